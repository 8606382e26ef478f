// Labels of target spans for hierarchical rules with syntactic labels. [zollmann2006]
//
// A span that is a constituent has its label; of a chain of constituents over the same words, that
// of the topmost. Others: A+B is a constituent A followed by a constituent B; A/B is a constituent
// A that lacks a constituent B at its end; A\B is one that lacks a B at its beginning. Without any
// of these, and without a tree, the label is X.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rules/tree_corpus.hpp"

namespace hopefear::rules {

// Numbers for labels and combinations of two: 0 is X.
class SpanLabelNumbers {
 public:
  enum Kind : uint32_t { concatenated, without_right, without_left };
  explicit SpanLabelNumbers(uint32_t labels) : labels_(labels) {}
  uint32_t size() const { return labels_ * (1 + 3 * labels_); }
  uint32_t combined(Kind kind, uint32_t a, uint32_t b) const {
    return labels_ + (kind * labels_ + a) * labels_ + b;
  }
  std::string name(uint32_t number, const WordNumbers& labels) const;

 private:
  uint32_t labels_;
};

class SpanLabels {
 public:
  explicit SpanLabels(const SpanLabelNumbers& numbers) : numbers_(numbers) {}
  void read(const syntax::Tree& tree, size_t words);
  // The number of the label of target words first..last, both included. O(words), once per span.
  uint32_t of(uint32_t first, uint32_t last);

 private:
  static constexpr uint32_t kNone = 0xffffffff;
  uint32_t exact(uint32_t begin, uint32_t end) const { return exact_[begin * (words_ + 1) + end]; }
  uint32_t find(uint32_t begin, uint32_t end) const;
  const SpanLabelNumbers& numbers_;
  uint32_t words_ = 0;
  std::vector<uint32_t> exact_, known_;
};

}  // namespace hopefear::rules
