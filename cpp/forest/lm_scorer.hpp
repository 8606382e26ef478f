// A language model as a scorer of edges: the model's log probability of the strings of derivations.
#pragma once

#include <memory>
#include <vector>

#include "features/dense/language_model.hpp"
#include "forest/expand.hpp"

namespace hopefear {

// Scores and feature values are natural logs. Edges of the goal complete the sentence: their
// strings are scored between <s> and </s>, so the goal must not be a tail (std::invalid_argument).
// In a forest without a goal no string is complete.
class LmScorer : public EdgeScorer {
 public:
  // `feature`: its value is the log probability; 0: fire no feature.
  LmScorer(const Forest& forest, std::shared_ptr<const lm::Model> model, double weight,
           FeatureId feature);

  size_t state_size() const override { return lm_.edge_state_size(); }
  size_t payload_size() const override { return sizeof(float); }
  double score(uint32_t edge, std::span<const std::byte* const> tails, std::byte* state) override;
  double estimate(uint32_t edge) override;  // of the edge's own words, without its tails
  void record(uint32_t edge, std::span<const std::byte* const> tails, const std::byte* payload,
              FeatureNumbers& features, std::vector<FeatureEntry>& own) override;

 private:
  const Forest forest_;
  const std::shared_ptr<const lm::Model> model_;
  const features::LanguageModel lm_;
  const double weight_;
  const FeatureId feature_;
  const std::vector<uint32_t> words_;  // by index in the target array
};

}  // namespace hopefear
