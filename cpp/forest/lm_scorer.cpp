#include "forest/lm_scorer.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "forest/words.hpp"

namespace hopefear {

LmScorer::LmScorer(const Forest& forest, std::shared_ptr<const lm::Model> model, double weight,
                   FeatureId feature)
    : forest_(forest),
      model_(std::move(model)),
      lm_{{}, model_.get()},
      weight_(weight),
      feature_(feature),
      words_(numbered_target(
          forest, [&](int32_t word) { return model_->find(forest.vocabulary()->word(word)); })) {
  const std::span<const uint32_t> tails = forest.arrays().tails;
  const std::optional<uint32_t> goal = forest.goal();
  if (goal.has_value() && std::find(tails.begin(), tails.end(), *goal) != tails.end()) {
    throw std::invalid_argument("the goal is a tail of an edge, but a sentence ends there");
  }
}

double LmScorer::score(uint32_t edge, std::span<const std::byte* const> tails, std::byte* state) {
  const ForestView& a = forest_.arrays();
  const uint32_t* const words = words_.data() + a.target_begin[edge];
  const float value = lm_.edge(
      forest_.target(edge), forest_.goal() == a.heads[edge], [&](size_t i) { return words[i]; },
      [&](size_t tail) { return tails[tail]; }, state);
  std::memcpy(state + state_size(), &value, sizeof value);
  return weight_ * value;
}

double LmScorer::estimate(uint32_t edge) {
  const uint32_t* const words = words_.data() + forest_.arrays().target_begin[edge];
  double sum = 0;
  lm_.for_words(
      forest_.target(edge), [&](size_t i) { return words[i]; },
      [&](const lm::Scored& scored) {
        sum += scored.natural();
        return true;
      });
  return weight_ * sum;
}

void LmScorer::record(uint32_t, std::span<const std::byte* const>, const std::byte* payload,
                      FeatureNumbers& features, std::vector<FeatureEntry>& own) {
  if (feature_ == 0) return;
  float value = 0;
  std::memcpy(&value, payload, sizeof value);
  own.push_back({features.feature(feature_), value});
}

}  // namespace hopefear
