// Features that count (words, phrases, untranslated words, rules, glue …) and the scores of a rule
// table. They depend on the rule alone.
#pragma once

#include <span>
#include <vector>

#include "features/dense/accumulators.hpp"

namespace hopefear::features {

struct Count {
  uint32_t number = kAbsent;
  double unit = 1;
  bool present() const { return number != kAbsent; }
  template <typename Out>
  void add(double times, Out&& out) const {
    if (present()) out.add(number, unit, times);
  }
};

// The translation scores of a table.
struct Columns {
  std::vector<uint32_t> numbers;
  template <typename Out>
  void add(std::span<const float> scores, Out&& out) const {
    for (size_t c = 0; c < scores.size(); ++c) out.add(numbers[c], 1, scores[c]);
  }
  // The value of each column for a translation that is in no table but has a probability: equal
  // shares, as in Moses.
  double share(double log_probability) const {
    return numbers.empty() ? 0 : log_probability / static_cast<double>(numbers.size());
  }
  template <typename Out>
  void add_shares(double share, Out&& out) const {
    for (const uint32_t number : numbers) out.add(number, 1, share);
  }
};

}  // namespace hopefear::features
