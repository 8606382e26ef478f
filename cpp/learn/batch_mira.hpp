// Passes of batch MIRA over candidates [cherry2012]: hope and fear of each group by model score and
// gain, a passive-aggressive step, weights averaged over steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learn/candidates.hpp"

namespace hopefear {

struct MiraOptions {
  double C;      // largest step
  double decay;  // of the background, whenever a group has been added to it
  bool safe_hope;
  bool model_background;  // the background grows by the model's best row, not by the hope
  size_t order;           // of BLEU; 0: gains are given
  double length_unit;
};

// Views of the caller's arrays, which must outlive it; weights, sums and background are its own.
class BatchMira {
 public:
  // `statistics`: rows x (2 order + 1); with order 0 instead `gains`, one per row. `moves`: one per
  // feature, 0 for those whose weights stay. `complete`: one per group, 0 for those that the
  // background does not grow by, since their rows are no whole translations.
  BatchMira(FeatureRows features, std::span<const int64_t> begin,
            std::span<const int32_t> statistics, std::span<const double> gains,
            std::vector<double> weights, std::span<const uint8_t> moves,
            std::span<const uint8_t> complete, MiraOptions options);

  struct Pass {
    uint64_t steps = 0;
    double loss = 0;  // summed over groups
  };
  // Visits the groups in this order. O(entries of the features).
  Pass pass(std::span<const int32_t> order);

  const std::vector<double>& weights() const { return weights_; }
  // The mean of the weights after each step, of all passes so far; without any step the weights.
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
  std::vector<double> scores_, values_;  // scratch: of one group
  std::vector<double> difference_;       // all features, 0 but for those touched
  std::vector<size_t> touched_;
};

}  // namespace hopefear
