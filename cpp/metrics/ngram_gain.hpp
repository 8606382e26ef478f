// The gain of a sentence from its n-gram matches and a background: the common form of BLEU with a
// background and of smoothed sentence-level BLEU.
//
//   (constant + by_reference * r) * brevity(h, r) * exp(1/N sum_n log(m_n / t_n))
//
// m_n, t_n: matches and totals of order n; h, r: lengths of hypothesis and reference in words; all
// including those of the background. If an order has no match, the gain is 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace hopefear {

struct NgramGain {
  std::vector<double> matches, totals;  // of the background, by order
  double length, reference;
  double constant, by_reference;

  unsigned order() const { return static_cast<unsigned>(matches.size()); }

  // `match_counts`: matches by order; `words`, `reference_words`: lengths of hypothesis and
  // reference.
  template <typename Count>
  double operator()(const Count* match_counts, double words, double reference_words) const {
    double logs = 0;
    for (size_t n = 0; n < matches.size(); ++n) {
      const double m = matches[n] + match_counts[n];
      const double t = totals[n] + std::max(0.0, words - static_cast<double>(n));
      if (t <= 0) continue;
      if (m <= 0) return 0;
      logs += std::log(m / t);
    }
    const double h = length + words, r = reference + reference_words;
    if (h < r) {
      if (h <= 0) return 0;
      logs += static_cast<double>(matches.size()) * (1 - r / h);
    }
    return (constant + by_reference * r) * std::exp(logs / static_cast<double>(matches.size()));
  }
};

}  // namespace hopefear
