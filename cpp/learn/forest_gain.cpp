#include "learn/forest_gain.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/threads.hpp"
#include "forest/inference.hpp"

namespace hopefear {

ForestGain::ForestGain(std::vector<Forest> forests, FeatureId gain) {
  for (const Forest& forest : forests) {
    if (!forest.goal().has_value()) throw std::invalid_argument("a forest has no goal");
    const auto ids = forest.arrays().feature_ids;
    std::copy_if(ids.begin(), ids.end(), std::back_inserter(ids_),
                 [&](FeatureId id) { return id != gain; });
    if (ids_.size() > (size_t{1} << 20)) {  // before they become too many
      std::sort(ids_.begin(), ids_.end());
      ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
    }
  }
  std::sort(ids_.begin(), ids_.end());
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  for (Forest& forest : forests) {
    Part part{std::move(forest), {}, {}};
    std::vector<double> only_gain;
    for (const FeatureId id : part.forest.arrays().feature_ids) {
      only_gain.push_back(id == gain ? 1 : 0);
      const auto place = std::lower_bound(ids_.begin(), ids_.end(), id) - ids_.begin();
      part.columns.push_back(id == gain ? kNoColumn : static_cast<uint32_t>(place));
    }
    part.gains = edge_scores(part.forest, only_gain);
    forests_.push_back(std::move(part));
  }
}

std::vector<double> ForestGain::scores(const Part& part, std::span<const double> vector,
                                       double scale) const {
  std::vector<double> weights;
  weights.reserve(part.columns.size());
  for (const uint32_t c : part.columns) weights.push_back(c == kNoColumn ? 0 : scale * vector[c]);
  return edge_scores(part.forest, weights);
}

ForestGain::Sums ForestGain::evaluate(std::span<const double> vector, double gamma,
                                      size_t threads) const {
  if (vector.size() != ids_.size()) throw std::invalid_argument("expected one weight per feature");
  struct One {
    double gain = 0, entropy = 0;
    std::vector<double> gain_slope, score_slope;  // by the forest's features
  };
  std::vector<One> found(forests_.size());
  parallel_for(forests_.size(), threads, [&](size_t i) {
    const Part& part = forests_[i];
    const uint32_t goal[] = {*part.forest.goal()};
    const std::vector<double> model = scores(part, vector, gamma);
    const Posterior p = posterior(part.forest, model, goal);
    const Expectation gain = expectation(part.forest, p, part.gains, goal);
    const Expectation score = expectation(part.forest, p, model, goal);
    found[i] = {gain.value, p.log_z - score.value, feature_sums(part.forest, gain.edges),
                feature_sums(part.forest, score.edges)};
  });
  Sums sums{0, 0, std::vector<double>(ids_.size()), std::vector<double>(ids_.size())};
  for (size_t i = 0; i < forests_.size(); ++i) {
    sums.gain += found[i].gain;
    sums.entropy += found[i].entropy;
    const std::vector<uint32_t>& columns = forests_[i].columns;
    for (size_t f = 0; f < columns.size(); ++f) {
      if (columns[f] == kNoColumn) continue;
      sums.gain_slope[columns[f]] += gamma * found[i].gain_slope[f];
      // Entropy is log Z - E[score], and its gradient minus the covariance of score and features.
      sums.entropy_slope[columns[f]] -= gamma * found[i].score_slope[f];
    }
  }
  return sums;
}

double ForestGain::variance(std::span<const double> vector, size_t threads) const {
  if (vector.size() != ids_.size()) throw std::invalid_argument("expected one weight per feature");
  std::vector<double> found(forests_.size(), 0);
  parallel_for(forests_.size(), threads, [&](size_t i) {
    const Part& part = forests_[i];
    const uint32_t goal[] = {*part.forest.goal()};
    const std::vector<double> model = scores(part, vector, 1);
    const Posterior equal = posterior(part.forest, std::vector<double>(model.size(), 0), goal);
    const Expectation covariance = expectation(part.forest, equal, model, goal);
    for (size_t e = 0; e < model.size(); ++e) found[i] += model[e] * covariance.edges[e];
  });
  double sum = 0;
  for (const double one : found) sum += std::max(0.0, one);
  return sum;
}

}  // namespace hopefear
