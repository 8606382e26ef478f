// The occurrences of phrase pairs or hierarchical rules in a block of sentence pairs, as records
// that sort by (source, target): source, end mark, target, end mark, number of links (2 bytes),
// links as target and source; for tree rules the number of tokens (2) and the fragment;
// orientations (1) or count (8), sentence (4). The target of rules with labels ends with the label
// of the left-hand side.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/external_sorter.hpp"
#include "base/word_numbers.hpp"
#include "rules/aligned_corpus.hpp"
#include "rules/extract.hpp"
#include "rules/phrase_codec.hpp"

namespace hopefear::rules {

inline void append_big_endian(std::string& bytes, uint64_t value, size_t width) {
  for (size_t i = width; i-- > 0;) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

inline void append_links(std::string& bytes, std::span<const Link> links) {
  append_big_endian(bytes, links.size(), 2);
  for (const Link& link : links) {
    bytes += static_cast<char>(link.target);
    bytes += static_cast<char>(link.source);
  }
}

// The records of the rules of a sentence pair. Many are equal, with different phrases in their
// holes: merging them, with the sum of their counts, more than halves the number of records.
class MergedRecords {
 public:
  void add(std::string_view record, double count);
  // Adds the records to a shard, with their counts and the number of the sentence; empties this.
  void flush(uint64_t sentence, RecordSorter::Shard& shard);

 private:
  WordNumbers keys_;
  std::vector<double> counts_;  // by number of key
  std::string record_;
};

// The error of a sentence pair, with its number and lengths.
InputError error_of_pair(uint64_t sentence, const SentencePair& pair, const InputError& error);

class Occurrences {
 public:
  // The arguments must outlive this.
  Occurrences(const ExtractOptions& options, const PhraseEncoder& source,
              const PhraseEncoder& target)
      : options_(options), source_(source), target_(target) {}

  // Adds the records of a block (see AlignedCorpus::data), whose first sentence has this number.
  void add(uint64_t first, std::span<const uint32_t> block, RecordSorter::Shard& shard) const;

 private:
  void add_phrases(uint64_t first, std::span<const uint32_t> block,
                   RecordSorter::Shard& shard) const;
  void add_rules(uint64_t first, std::span<const uint32_t> block, RecordSorter::Shard& shard) const;
  const ExtractOptions& options_;
  const PhraseEncoder &source_, &target_;
};

// Does the work of RuleExtraction::extract for parts of its text, in any process: takes a part's
// first sentence and data, and returns its sorted records for RuleExtraction::add_run.
class RunExtractor {
 public:
  // `source` and `target`: the states of the RuleExtraction's codecs.
  RunExtractor(ExtractOptions options, std::span<const uint32_t> source,
               std::span<const uint32_t> target)
      : options_(std::move(options)), source_(source), target_(target) {}
  struct SortedRun {
    std::string coded;  // by FrontCoder
    uint64_t records = 0;
  };
  SortedRun operator()(uint64_t first, std::span<const uint32_t> block) const;

 private:
  ExtractOptions options_;
  PhraseEncoder source_, target_;
};

}  // namespace hopefear::rules
