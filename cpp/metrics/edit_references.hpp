// The statistics of word and character error rates: the edit distance (insertions, deletions,
// substitutions) to a reference, and the length of this reference.
//
// Of several references the one with the lowest error rate is used (ties: the first). Distances are
// computed with bit vectors of a column of the table, 64 cells at once.  [myers1999, hyyro2003]
#pragma once

#include "metrics/reference_set.hpp"

namespace hopefear {

class EditReferences : public ReferenceSet {
 public:
  explicit EditReferences(TextUnit unit) : ReferenceSet(unit) {}
  void add_sentence(std::span<const std::vector<WordId>> references) override;
  size_t columns() const override { return 2; }
  std::unique_ptr<Counter> counter() const override;

  std::span<const std::vector<WordId>> references(size_t sentence) const {
    return std::span(units_).subspan(first_[sentence], lengths(sentence).size());
  }

 private:
  std::vector<std::vector<WordId>> units_;  // of all references
  std::vector<size_t> first_;               // of a sentence
};

}  // namespace hopefear
