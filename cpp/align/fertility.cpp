#include "align/fertility.hpp"

#include <algorithm>

namespace hopefear::align {
namespace {

constexpr float kRuledOut = 1e-10F;
constexpr float kNegligible = 1e-3F;  // of a link: not worth a pass over the distribution

// Of the prior of all words: Poisson with mean 1, as strong as this many words.
constexpr double kPoisson[kFertilities] = {0.3679, 0.3679, 0.1839, 0.0613,
                                           0.0153, 0.0031, 0.0005, 0.0001};
constexpr double kPoissonWords = 10;

}  // namespace

void FertilityDistribution::add_link(float probability) {
  if (probability < kNegligible) return;
  const float rest = 1 - probability;
  if (last_ + 1 < kFertilities) {
    ++last_;
    p_[last_] = p_[last_ - 1] * probability;
  } else {
    p_[last_] += p_[last_ - 1] * probability;
  }
  for (size_t n = last_ - 1; n > 0; --n) p_[n] = p_[n] * rest + p_[n - 1] * probability;
  p_[0] *= rest;
}

Fertilities::Fertilities(size_t words) : ratios_(words + 1) {
  for (Ratios& ratios : ratios_) ratios.fill(1);
}

void Fertilities::update(const Counts& counts, double strength) {
  std::array<double, kFertilities> all;
  for (size_t n = 0; n < kFertilities; ++n) all[n] = kPoissonWords * kPoisson[n];
  double sum = kPoissonWords;
  for (const auto& word : counts) {
    for (size_t n = 0; n < kFertilities; ++n) {
      all[n] += word[n];
      sum += word[n];
    }
  }
  for (double& p : all) p *= strength / sum;
  const auto estimate = [&](Ratios& ratios, const std::array<double, kFertilities>& word) {
    for (size_t n = 0; n + 1 < kFertilities - 1; ++n) {
      ratios[n] = static_cast<float>((word[n + 1] + all[n + 1]) / (word[n] + all[n]));
    }
    ratios.back() = kRuledOut;
  };
  for (size_t w = 0; w < counts.size(); ++w) estimate(ratios_[w], counts[w]);
  estimate(ratios_.back(), {});
}

}  // namespace hopefear::align
