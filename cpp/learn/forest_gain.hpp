// Expected gain and entropy of forests, with gradients: the objective of minimum risk training on
// forests.  [li2009]
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "forest/forest.hpp"

namespace hopefear {

class ForestGain {
 public:
  // Takes forests with a goal. The value of the feature `gain`, which is not part of the model, is
  // each edge's share of the gain.
  ForestGain(std::vector<Forest> forests, FeatureId gain);

  // The features of all forests, ascending: the order of all vectors.
  const std::vector<FeatureId>& ids() const { return ids_; }
  size_t size() const { return forests_.size(); }

  struct Sums {  // over the forests
    double gain = 0, entropy = 0;
    std::vector<double> gain_slope, entropy_slope;  // derivatives with respect to the vector
  };
  // For the distributions p ~ exp(gamma w.f) over derivations, where w is `vector`. Summed in the
  // order of the forests, independent of the number of threads. Entropy in nats. O(E + tails +
  // entries) for each forest.
  Sums evaluate(std::span<const double> vector, double gamma, size_t threads) const;

  // The variance of w.f under a uniform distribution over derivations, summed over the forests.
  double variance(std::span<const double> vector, size_t threads) const;

 private:
  struct Part {
    Forest forest;
    std::vector<uint32_t> columns;  // index in ids() of each local feature; kNoColumn for `gain`
    std::vector<double> gains;      // per edge
  };
  static constexpr uint32_t kNoColumn = 0xffffffff;
  std::vector<double> scores(const Part& part, std::span<const double> vector, double scale) const;

  std::vector<Part> forests_;
  std::vector<FeatureId> ids_;
};

}  // namespace hopefear
