// A language model as a scorer of edges: the model's log probability of the strings of derivations.
#pragma once

#include <memory>
#include <vector>

#include "features/dense/language_model.hpp"
#include "forest/expand.hpp"

namespace hopefear {

// Score and feature: natural logs. Edges of the goal end the sentence: they stand between <s> and
// </s>, so the goal may be no tail (std::invalid_argument); without a goal nothing ends.
class LmScorer : public EdgeScorer {
 public:
  // The feature's value is the log probability, 0 for no feature.
  LmScorer(const Forest& forest, std::shared_ptr<const lm::Model> model, double weight,
           FeatureId feature);

  size_t state_size() const override { return lm_.edge_state_size(); }
  size_t payload_size() const override { return sizeof(float); }
  double score(uint32_t edge, std::span<const std::byte* const> tails, std::byte* state) override;
  double estimate(uint32_t edge) override;  // of the words of the edge, as far as it knows them
  void record(uint32_t edge, std::span<const std::byte* const> tails, const std::byte* payload,
              FeatureNumbers& features, std::vector<FeatureEntry>& own) override;

 private:
  const Forest forest_;
  const std::shared_ptr<const lm::Model> model_;
  const features::LanguageModel lm_;
  const double weight_;
  const FeatureId feature_;
  const std::vector<uint32_t> words_;  // by place in the target arrays
};

}  // namespace hopefear
