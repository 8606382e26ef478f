// Expected gain and entropy of many forests, with their gradients: what minimum risk on forests
// evaluates again and again.  [li2009]
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "forest/forest.hpp"

namespace hopefear {

class ForestGain {
 public:
  // Forests with a goal whose edges have their share of the gain as the feature `gain`, which is
  // none of the model's.
  ForestGain(std::vector<Forest> forests, FeatureId gain);

  // The features of all forests, ascending; vectors have their order.
  const std::vector<FeatureId>& ids() const { return ids_; }
  size_t size() const { return forests_.size(); }

  struct Sums {  // over the forests
    double gain = 0, entropy = 0;
    std::vector<double> gain_slope, entropy_slope;  // derivatives by the vector
  };
  // Of the distributions p ~ exp(gamma w.f) over derivations. Summed in the order of the forests,
  // whatever the number of threads. O(E + tails + entries) for each forest.
  Sums evaluate(std::span<const double> vector, double gamma, size_t threads) const;

  // The summed variance of w.f where all derivations of a forest are equally probable.
  double variance(std::span<const double> vector, size_t threads) const;

 private:
  struct Part {
    Forest forest;
    std::vector<uint32_t> columns;  // of its features in ids(); of `gain` kNoColumn
    std::vector<double> gains;      // per edge
  };
  static constexpr uint32_t kNoColumn = 0xffffffff;
  std::vector<double> scores(const Part& part, std::span<const double> vector, double scale) const;

  std::vector<Part> forests_;
  std::vector<FeatureId> ids_;
};

}  // namespace hopefear
