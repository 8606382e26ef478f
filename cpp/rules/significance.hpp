// Which phrase pairs occur together more often than chance would have it. [johnson2007]
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "rules/aligned_corpus.hpp"
#include "rules/extract.hpp"
#include "rules/phrase_codec.hpp"

namespace hopefear::rules {

// -ln p of Fisher's exact test: the probability that two phrases which occur in `source` and
// `target` of `sentences` sentence pairs meet in `joint` or more of them by chance (Johnson et al.
// 2007, section 2.2).
double fisher(uint64_t joint, uint64_t source, uint64_t target, uint64_t sentences);

// The sentences of one side in which a phrase occurs, aligned or not. A suffix array: 12 bytes per
// word of the side. Phrases are in table numbers.
class PhraseIndex {
 public:
  PhraseIndex(const AlignedCorpus& corpus, bool target_side, const PhraseCodec& codec,
              uint32_t max_length);
  // Ascending, each once; valid until the next call.
  const std::vector<uint32_t>& sentences(std::span<const Word> phrase);

 private:
  std::vector<Word> words_;            // of all sentences, each closed by kNoWord
  std::vector<uint32_t> sentence_of_;  // of each word
  std::vector<uint32_t> suffixes_;
  std::vector<uint32_t> found_;
  // Frequent phrases are asked for again and again, with each of their translations.
  std::unordered_map<uint64_t, std::vector<uint32_t>> frequent_;
};

class SignificanceTest {
 public:
  SignificanceTest(const AlignedCorpus& corpus, const PhraseCodec& source_codec,
                   const PhraseCodec& target_codec, const ExtractOptions& options);
  double threshold() const { return threshold_; }
  void set_source(std::span<const Word> source);  // for the calls of keep() that follow
  bool keep(std::span<const Word> target);

 private:
  uint64_t sentences_;
  double threshold_;
  PhraseIndex source_, target_;
  std::vector<uint32_t> source_sentences_;
};

}  // namespace hopefear::rules
