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
  const bool whole = forest_.goal() == a.heads[edge];
  lm::RuleScore rule(*model_);
  if (whole) rule.begin_sentence();
  lm::ChartState part;
  for (uint32_t i = a.target_begin[edge]; i < a.target_begin[edge + 1]; ++i) {
    if (a.target[i] >= 0) {
      rule.terminal(words_[i]);
    } else {
      lm::unpack(tails[static_cast<size_t>(-1 - a.target[i])], model_->order(), part);
      rule.nonterminal(part, 0);
    }
  }
  if (whole) {
    rule.terminal(model_->eos());
    rule.state = {};
  }
  lm::pack(rule.state, model_->order(), state);
  const float value = rule.score();
  std::memcpy(state + state_size(), &value, sizeof value);
  return weight_ * value;
}

double LmScorer::estimate(uint32_t edge) {
  const ForestView& a = forest_.arrays();
  double sum = 0;
  lm::State context = model_->empty();
  for (uint32_t i = a.target_begin[edge]; i < a.target_begin[edge + 1]; ++i) {
    if (a.target[i] < 0) {
      context = model_->empty();
    } else {
      sum += model_->score(context, words_[i], context);
    }
  }
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
