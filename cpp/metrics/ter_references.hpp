// The statistics of TER: edits (insertions, deletions, substitutions, shifts of phrases) to the
// nearest reference, and the mean reference length in 1/840 of a word.  [snover2006]
//
// The greedy search for shifts follows sacreBLEU's, which follows Tercom: its limits, its order of
// preference and its band around the diagonal, so that the numbers are the same. A shift's distance
// is computed from the first row that it changes.
#pragma once

#include "metrics/reference_set.hpp"

namespace hopefear {

class TerReferences : public ReferenceSet {
 public:
  TerReferences() : ReferenceSet(TextUnit::word) {}
  void add_sentence(std::span<const std::vector<WordId>> references) override;
  size_t columns() const override { return 2; }
  std::unique_ptr<Counter> counter() const override;

  std::span<const std::vector<WordId>> references(size_t sentence) const {
    return std::span(words_).subspan(first_[sentence], lengths(sentence).size());
  }

 private:
  std::vector<std::vector<WordId>> words_;  // all references
  std::vector<size_t> first_;               // of a sentence
};

}  // namespace hopefear
