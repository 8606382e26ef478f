#include "forest/linear_scorer.hpp"

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace hopefear {

LinearScorer::LinearScorer(const Forest& forest, const BleuReferences& references, size_t sentence,
                           std::vector<double> xi, std::vector<uint32_t> words, FeatureId feature)
    : walk_(forest, references.ngrams(sentence), std::move(words)),
      xi_(std::move(xi)),
      feature_(feature) {
  if (xi_.size() != references.order() + 1) {
    throw std::invalid_argument(std::to_string(xi_.size()) +
                                " constants, but references of order " +
                                std::to_string(references.order()));
  }
}

double LinearScorer::score(uint32_t edge, std::span<const std::byte* const> tails,
                           std::byte* state) {
  std::memset(state, 0, state_size());
  double gain = 0;
  walk_(
      edge, tails, reinterpret_cast<uint32_t*>(state), [&](size_t n) { gain += xi_[n]; },
      [&] { gain -= xi_[0]; });
  std::memcpy(state + state_size(), &gain, 8);
  return 0;
}

void LinearScorer::record(uint32_t, std::span<const std::byte* const>, const std::byte* payload,
                          FeatureNumbers& features, std::vector<FeatureEntry>& own) {
  double gain = 0;
  std::memcpy(&gain, payload, 8);
  if (gain != 0) own.push_back({features.feature(feature_), static_cast<float>(gain)});
}

}  // namespace hopefear
