// Extracts phrase pairs, hierarchical rules or tree rules with their scores from a word-aligned
// bitext, in bounded memory. Below, a pair is a source and a target side, with or without
// nonterminals.
//
//   read      three texts -> numbers in a scratch file, words, lexicon; trees, if there are any
//   extract   every occurrence of a pair -> a record, sorted by (source, target)
//   count     records of one pair -> counts, inner alignment, orientations, one after the other in
//             a scratch file; its target side -> a record, sorted by target; the count of each
//             target side -> a record, sorted back into the order of the pairs
//   write     both together -> scores -> filters -> the table, and text if wanted
//
// Rules with labels carry those of nonterminals on the source side and that of the left-hand side
// as a last symbol of the target side. Their p(f|e) is relative to rules with the same target side
// and labels, whatever the order of the source side.
//
// The result depends on the texts and the options, not on `memory` and `threads`. [koehn2003,
// chiang2007]
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/external_sorter.hpp"
#include "base/scratch_stream.hpp"
#include "rules/aligned_corpus.hpp"
#include "rules/ghkm.hpp"
#include "rules/hiero.hpp"
#include "rules/phrase_codec.hpp"
#include "rules/phrases.hpp"
#include "rules/rule.hpp"
#include "rules/span_labels.hpp"
#include "rules/tree_corpus.hpp"

namespace hopefear::rules {

struct RuleCounts;  // rules/rule_counts.hpp

struct ExtractOptions {
  // samt: hierarchical rules with labels from trees; tree: string-to-tree rules.
  enum class Kind { phrase, hiero, samt, tree } kind;
  HieroOptions hiero;                 // of hiero and samt
  GhkmOptions ghkm;                   // of tree
  syntax::Binarisation binarisation;  // of trees
  // Of phrase: `max_length`, `reordering` and `significance`.
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

  bool hierarchical() const { return kind != Kind::phrase; }
  bool labelled() const { return kind == Kind::samt || kind == Kind::tree; }
};

struct ExtractReport {
  uint64_t sentences = 0, occurrences = 0, pairs = 0;
  uint64_t below_min_count = 0, not_significant = 0, over_limit = 0;
  uint64_t rules = 0, source_sides = 0, one_sentence = 0;
  uint64_t spilled = 0;    // bytes written to scratch files
  uint64_t trees = 0;      // sentence pairs with a tree
  uint64_t truncated = 0;  // nodes of trees with too many rules to compose all
  uint64_t labels = 0;
  double significance = 0;  // the threshold used, -ln p
};

// The names of the columns of extracted tables.
Columns phrase_columns(uint32_t reordering);
// p and lex of both directions; ln(1 + occurrences) of the source side and of the pair; whether
// each occurred only once.
Columns hiero_columns();
// As hiero_columns(), and p(r|root), the rule given the label of its root with Good-Turing counts.
Columns tree_columns();
inline constexpr std::string_view kHieroLabel = "X";

class RuleExtraction {
 public:
  using Progress = std::function<void(uint64_t)>;
  explicit RuleExtraction(ExtractOptions options);
  ~RuleExtraction();

  // To be called in this order, each once. Progress is in sentences, sentences, pairs, pairs.
  // `trees`: of the target; null if the kind of rules needs none.
  void read(ByteSource& source, ByteSource& target, ByteSource& alignment, ByteSource* trees,
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

  Columns columns() const;
  // Of a label in the rules that write() passes to `text`.
  std::string_view label(Word number) const { return label_names_.at(number); }
  uint64_t sentences() const { return corpus().sentences(); }
  uint64_t pairs() const { return pairs_; }
  const AlignedCorpus& corpus() const;  // after read()
  const PhraseCodec& source_codec() const { return *source_codec_; }
  const PhraseCodec& target_codec() const { return *target_codec_; }

 private:
  class PairReader;
  void begin_step(int step);
  uint64_t budget() const;
  void add_labelled_rules(RecordSorter::Shard& shard, size_t block);
  void add_tree_rules(RecordSorter::Shard& shard, size_t block);
  void split_target(RuleCounts& pair) const;
  void append_target_key(const RuleCounts& pair, std::string& key) const;
  void use_labels(const RuleCounts& pair);
  void number_labels();
  void count_targets();

  ExtractOptions options_;
  // Target nonterminals of rules with labels have numbers below this, labels follow.
  static constexpr uint32_t kMostPlaces = 100;
  std::unique_ptr<AlignedCorpus> corpus_;
  std::unique_ptr<TreeCorpus> trees_;
  std::unique_ptr<SpanLabelNumbers> span_labels_;  // of samt
  std::unique_ptr<PhraseCodec> source_codec_, target_codec_;
  std::unique_ptr<RecordSorter> occurrences_, targets_, target_counts_;
  std::unique_ptr<ScratchStream> pair_stream_;
  int steps_ = 0;  // number of finished steps
  uint64_t pairs_ = 0;
  std::atomic<uint64_t> truncated_ = 0;
  std::vector<bool> label_used_;              // by number during extraction
  std::vector<uint32_t> label_numbers_;       // of the table, by number during extraction
  std::vector<std::string> label_names_;      // by number of the table
  std::vector<double> root_counts_;           // of all rules, by label during extraction
  std::map<uint64_t, uint64_t> count_types_;  // rules by count
};

}  // namespace hopefear::rules
