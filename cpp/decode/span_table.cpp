#include "decode/span_table.hpp"

#include <algorithm>
#include <limits>

namespace hopefear::decode {

SpanTable::SpanTable(const OptionTable& options, int32_t width)
    : options_(&options), length_(options.length()), width_(std::clamp(width, 0, length_)) {
  const auto n = static_cast<size_t>(length_);
  spans_.resize(n * static_cast<size_t>(width_));
  suffixes_.resize(n);
  for (int32_t begin = length_ - 1; begin >= 0; --begin) {
    for (int32_t end = begin + 1; end < length_ && end - begin <= width_; ++end) {
      spans_[static_cast<size_t>(begin) * static_cast<size_t>(width_) +
             static_cast<size_t>(end - begin - 1)] = best(begin, end);
    }
    suffixes_[static_cast<size_t>(begin)] = best(begin, length_);
  }
}

SpanTable::Entry SpanTable::best(int32_t begin, int32_t end) const {
  Entry best{-std::numeric_limits<double>::infinity(), end, 0};
  // Longer options first: of equal scores the one with fewer options is kept.
  for (int32_t k = std::min(end, begin + options_->longest()); k > begin; --k) {
    const OptionTable::Range range = options_->at(begin, k);
    if (range.empty()) continue;
    const double score =
        options_->option(range.begin).estimate + (k < end ? this->score(k, end) : 0.0);
    if (score > best.score) best = {score, k, range.begin};
  }
  return best;
}

std::vector<int32_t> SpanTable::words(int32_t begin, int32_t end) const {
  std::vector<int32_t> words;
  for_options(begin, end, [&](uint32_t option) {
    const auto target = options_->target(options_->option(option));
    words.insert(words.end(), target.begin(), target.end());
  });
  return words;
}

}  // namespace hopefear::decode
