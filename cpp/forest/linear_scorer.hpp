// The linear n-gram score as a feature of edges: unlike BLEU it is a sum over a derivation's edges.
// [wisniewski2013, li2009]
#pragma once

#include <vector>

#include "forest/expand.hpp"
#include "forest/ngram_walk.hpp"
#include "metrics/bleu_references.hpp"

namespace hopefear {

// Adds nothing to scores, so that expansion keeps the distribution over derivations (with a beam:
// its most probable part), and fires one feature, the edge's share of
//
//   xi_1 c_1 + … + xi_N c_N - xi_0 c_non        (Wisniewski & Yvon 2013, eq. 8)
//
// from the n-grams that the edge completes. Matches are not clipped. The state is the words at both
// ends, as far as they can be part of a longer n-gram of a reference.
class LinearScorer : public EdgeScorer {
 public:
  // `words`: the references' number of the word at each index of the target array
  // (numbered_target). `xi`: xi_0 .. xi_N for n-grams of up to N = order words. The references are
  // borrowed.
  LinearScorer(const Forest& forest, const BleuReferences& references, size_t sentence,
               std::vector<double> xi, std::vector<uint32_t> words, FeatureId feature);

  size_t state_size() const override { return 8 * ((4 * walk_.size() + 7) / 8); }
  size_t payload_size() const override { return 8; }  // the edge's gain
  double score(uint32_t edge, std::span<const std::byte* const> tails, std::byte* state) override;
  double estimate(uint32_t) override { return 0; }
  void record(uint32_t edge, std::span<const std::byte* const> tails, const std::byte* payload,
              FeatureNumbers& features, std::vector<FeatureEntry>& own) override;

 private:
  NgramWalk walk_;
  const std::vector<double> xi_;
  const FeatureId feature_;
};

}  // namespace hopefear
