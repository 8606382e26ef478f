// Batch MIRA over candidates [cherry2012]: for each group the hope and fear by model score and
// gain, then a passive-aggressive step; weights are averaged over steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learn/candidates.hpp"

namespace hopefear {

struct MiraOptions {
  double C;      // largest step
  double decay;  // factor of the background after each group added to it
  bool safe_hope;
  bool model_background;  // add the model's best row to the background instead of the hope
  size_t order;           // of BLEU; 0: gains are precomputed
  double length_unit;
};

// Holds views of the caller's arrays, which must outlive it; owns weights, sums and background.
class BatchMira {
 public:
  // `statistics`: rows x (2 order + 1); with order 0 `gains` instead, one per row. `moves`: per
  // feature, 0 for a fixed weight. `complete`: per group, 0 for groups that are not added to the
  // background because their rows are partial translations.
  BatchMira(FeatureRows features, std::span<const int64_t> begin,
            std::span<const int32_t> statistics, std::span<const double> gains,
            std::vector<double> weights, std::span<const uint8_t> moves,
            std::span<const uint8_t> complete, MiraOptions options);

  struct Pass {
    uint64_t steps = 0;
    double loss = 0;  // summed over groups
  };
  // One pass over the groups in the given order. O(feature entries).
  Pass pass(std::span<const int32_t> order);

  const std::vector<double>& weights() const { return weights_; }
  // The mean of the weights after each step of all passes so far; without a step the weights.
  std::vector<double> average() const;

 private:
  double gain(size_t row) const;
  void step(size_t hope, size_t fear, double loss);
  void collect(size_t row, double sign);

  FeatureRows features_;
  std::span<const int64_t> begin_;
  std::span<const int32_t> statistics_;
  std::span<const double> gains_;
  std::span<const uint8_t> moves_, complete_;
  MiraOptions options_;
  std::vector<double> weights_;
  // Averages without touching every weight at every step: with steps numbered from 1, the mean is
  // weights - sum_j (j - 1) step_j / steps.
  std::vector<double> late_;
  uint64_t steps_ = 0;
  std::vector<double> background_;
  std::vector<double> scores_, values_;  // scratch for one group
  std::vector<double> difference_;       // per feature, 0 except for those in touched_
  std::vector<size_t> touched_;
};

}  // namespace hopefear
