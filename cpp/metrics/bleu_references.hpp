// The statistics of BLEU: match1, total1, …, match_n, total_n, reference length.  [papineni2002]
#pragma once

#include "metrics/reference_set.hpp"

namespace hopefear {

// Which reference length a hypothesis is held against: the closest (of two, the shorter), the
// shortest, or the mean (in 1/840 of a word, see kLengthUnit).
enum class LengthChoice : uint8_t { closest, shortest, average };

class BleuReferences : public ReferenceSet {
 public:
  // Without `clip` every n-gram of the hypothesis that any reference has is a match, as often as
  // the hypothesis has it: what a sum over the edges of a lattice can count.
  BleuReferences(unsigned order, TextUnit unit, LengthChoice choice, bool clip);
  void add_sentence(std::span<const std::vector<WordId>> references) override;
  size_t columns() const override { return 2 * order_ + 1; }
  std::unique_ptr<Counter> counter() const override;

  void count(size_t sentence, std::span<const WordId> words, NgramTable::Scratch& scratch,
             int32_t* row) const;

  unsigned order() const { return order_; }
  const NgramTable& ngrams(size_t sentence) const { return tables_[sentence]; }
  // The length that a hypothesis of so many words is held against, in length_unit() of a word.
  int32_t reference_length(size_t sentence, size_t length) const;
  int32_t length_unit() const { return choice_ == LengthChoice::average ? kLengthUnit : 1; }

 private:
  unsigned order_;
  LengthChoice choice_;
  bool clip_;
  std::vector<NgramTable> tables_;  // one per sentence, of all its references
};

}  // namespace hopefear
