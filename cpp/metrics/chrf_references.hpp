// The statistics of chrF: per order the numbers of n-grams in the hypothesis, in the reference and
// in both, over characters without white space.  [popovic2015]
//
// Of several references the one with the best F score for the hypothesis is used (ties: the first),
// as in sacreBLEU.
#pragma once

#include "metrics/reference_set.hpp"

namespace hopefear {

class ChrfReferences : public ReferenceSet {
 public:
  ChrfReferences(unsigned order, double beta);
  void add_sentence(std::span<const std::vector<WordId>> references) override;
  // A character's number is its code point + 1.
  WordId intern(std::string_view character) override { return find(character); }
  WordId find(std::string_view character) const override;
  size_t columns() const override { return 3 * order_; }
  std::unique_ptr<Counter> counter() const override;

  void count(size_t sentence, std::span<const WordId> words, NgramTable::Scratch& scratch,
             int32_t* row) const;

 private:
  double f_score(const int32_t* row) const;

  unsigned order_;
  double beta_;
  std::vector<NgramTable> tables_;  // one per reference
  std::vector<size_t> first_;       // of a sentence
};

}  // namespace hopefear
