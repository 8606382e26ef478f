// Extracts phrase pairs or hierarchical rules with their scores from a word-aligned bitext, in
// bounded memory. Below, a pair is a source and a target side, with or without nonterminals.
//
//   read      three texts -> numbers in a scratch file, words, lexicon
//   extract   every occurrence of a pair -> a record, sorted by (source, target)
//   count     records of one pair -> counts, inner alignment, orientations, one after the other in
//             a scratch file; its target side -> a record, sorted by target; the count of each
//             target side -> a record, sorted back into the order of the pairs
//   write     both together -> scores -> filters -> the table, and text if wanted
//
// The result depends on the texts and the options, not on `memory` and `threads`. [koehn2003,
// chiang2007]
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/external_sorter.hpp"
#include "base/scratch_stream.hpp"
#include "rules/aligned_corpus.hpp"
#include "rules/hiero.hpp"
#include "rules/phrase_codec.hpp"
#include "rules/phrases.hpp"
#include "rules/rule.hpp"

namespace hopefear::rules {

struct ExtractOptions {
  bool hierarchical;
  HieroOptions hiero;   // if hierarchical; else `max_length`, `reordering` and `significance`
  uint32_t max_length;  // longest side, in words; at most 100
  uint32_t reordering;  // 0, 3 (backward) or 6 (backward and forward) scores
  uint32_t limit;       // options per source side in the table; 0: all
  double min_count;     // minimum number of occurrences of a kept pair
  // The minimum -ln p of Fisher's exact test of a kept pair, and how it is specified.
  enum class Significance { off, value, alpha_plus, alpha_minus } significance;
  double significance_value;
  uint64_t memory;  // in bytes, for sorting, words and lexicon
  size_t threads;
  std::string scratch_directory;  // empty: $TMPDIR or /tmp
};

struct ExtractReport {
  uint64_t sentences = 0, occurrences = 0, pairs = 0;
  uint64_t below_min_count = 0, not_significant = 0, over_limit = 0;
  uint64_t rules = 0, source_sides = 0, one_sentence = 0;
  uint64_t spilled = 0;     // bytes written to scratch files
  double significance = 0;  // the threshold used, -ln p
};

// The names of the columns of extracted tables.
Columns phrase_columns(uint32_t reordering);
// p and lex of both directions; ln(1 + occurrences) of the source side and of the pair; whether
// each occurred only once.
Columns hiero_columns();
inline constexpr std::string_view kHieroLabel = "X";

class RuleExtraction {
 public:
  using Progress = std::function<void(uint64_t)>;
  explicit RuleExtraction(ExtractOptions options);
  ~RuleExtraction();

  // To be called in this order, each once. Progress is in sentences, sentences, pairs, pairs.
  void read(ByteSource& source, ByteSource& target, ByteSource& alignment,
            const Progress& progress);
  void extract(const Progress& progress);
  // In place of extract(): the sorted records of all parts of the corpus (see RunExtractor), which
  // other processes made, in any order.
  void begin_runs();
  void add_run(std::string_view run, uint64_t records);
  void end_runs();
  void count(const Progress& progress);
  // `path` is a new file. `text` (may be null) receives every pair that passes the filters, before
  // the limit, in the order of a sorted Moses table.
  ExtractReport write(const std::string& path, std::string_view info, RuleSink* text,
                      const Progress& progress);

  Columns columns() const {
    return options_.hierarchical ? hiero_columns() : phrase_columns(options_.reordering);
  }
  uint64_t sentences() const { return corpus().sentences(); }
  uint64_t pairs() const { return pairs_; }
  const AlignedCorpus& corpus() const;  // after read()
  const PhraseCodec& source_codec() const { return *source_codec_; }
  const PhraseCodec& target_codec() const { return *target_codec_; }

 private:
  class PairReader;
  void begin_step(int step);
  uint64_t budget() const;
  void count_targets();

  ExtractOptions options_;
  std::unique_ptr<AlignedCorpus> corpus_;
  std::unique_ptr<PhraseCodec> source_codec_, target_codec_;
  std::unique_ptr<RecordSorter> occurrences_, targets_, target_counts_;
  std::unique_ptr<ScratchStream> pair_stream_;
  int steps_ = 0;  // number of finished steps
  uint64_t pairs_ = 0;
};

}  // namespace hopefear::rules
