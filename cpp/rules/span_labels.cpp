#include "rules/span_labels.hpp"

namespace hopefear::rules {

std::string SpanLabelNumbers::name(uint32_t number, const WordNumbers& labels) const {
  if (number < labels_) return std::string(labels.word(number));
  number -= labels_;
  const uint32_t b = number % labels_, a = number / labels_ % labels_;
  constexpr char kSigns[] = {'+', '/', '\\'};
  return std::string(labels.word(a)) + kSigns[number / labels_ / labels_] +
         std::string(labels.word(b));
}

void SpanLabels::read(const syntax::Tree& tree, size_t words) {
  words_ = static_cast<uint32_t>(words);
  exact_.assign((words + 1) * (words + 1), kNone);
  known_.assign((words + 1) * (words + 1), kNone);
  for (const syntax::TreeNode& node : tree.nodes) {  // the topmost of a chain is first
    uint32_t& label = exact_[node.begin * (words_ + 1) + node.end];
    if (label == kNone) label = node.label;
  }
}

uint32_t SpanLabels::of(uint32_t first, uint32_t last) {
  uint32_t& known = known_[first * (words_ + 1) + last + 1];
  if (known == kNone) known = find(first, last + 1);
  return known;
}

uint32_t SpanLabels::find(uint32_t begin, uint32_t end) const {
  if (exact(begin, end) != kNone) return exact(begin, end);
  for (uint32_t middle = end - 1; middle > begin; --middle) {  // the largest A first
    const uint32_t a = exact(begin, middle), b = exact(middle, end);
    if (a != kNone && b != kNone) return numbers_.combined(SpanLabelNumbers::concatenated, a, b);
  }
  for (uint32_t behind = end + 1; behind <= words_; ++behind) {  // the smallest A first
    const uint32_t a = exact(begin, behind), b = exact(end, behind);
    if (a != kNone && b != kNone) return numbers_.combined(SpanLabelNumbers::without_right, a, b);
  }
  for (uint32_t before = begin; before-- > 0;) {
    const uint32_t a = exact(before, end), b = exact(before, begin);
    if (a != kNone && b != kNone) return numbers_.combined(SpanLabelNumbers::without_left, a, b);
  }
  return 0;
}

}  // namespace hopefear::rules
