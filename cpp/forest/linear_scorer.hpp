// The linear n-gram score as a feature of edges: what BLEU cannot be, a sum over a derivation's
// edges.  [wisniewski2013, li2009]
#pragma once

#include <vector>

#include "forest/expand.hpp"
#include "metrics/bleu_references.hpp"

namespace hopefear {

// Adds nothing to scores, so that expansion keeps the distribution over derivations (under a beam:
// its most probable part), and fires one feature: the edge's share of
//
//   xi_1 c_1 + … + xi_N c_N - xi_0 c_non        (Wisniewski & Yvon 2013, eq. 8)
//
// that is, of the n-grams that this edge completes. Matches are not clipped. The state is the words
// at both ends as far as an n-gram of a reference can go on with them. Where strings grow to the
// right only, as in lattices, the first words stay first: the state is the last words alone. (Of
// phrase-based search on Multi30k that leaves 3,700 instead of 23,000 edges of a sentence.)
class LinearScorer : public EdgeScorer {
 public:
  // `words`: the references' number for each place of the target (numbered_target). `xi` has the
  // references' order + 1 numbers. The references are borrowed.
  LinearScorer(const Forest& forest, const BleuReferences& references, size_t sentence,
               std::vector<double> xi, std::vector<uint32_t> words, FeatureId feature);

  size_t state_size() const override { return 8 * ((4 * (2 * words_ + 1) + 7) / 8); }
  size_t payload_size() const override { return 8; }  // the edge's gain
  double score(uint32_t edge, std::span<const std::byte* const> tails, std::byte* state) override;
  double estimate(uint32_t) override { return 0; }
  void record(uint32_t edge, std::span<const std::byte* const> tails, const std::byte* payload,
              FeatureNumbers& features, std::vector<FeatureEntry>& own) override;

 private:
  const Forest forest_;  // a handle; the arrays are shared
  const NgramTable& ngrams_;
  const std::vector<double> xi_;
  const std::vector<uint32_t> target_;
  const FeatureId feature_;
  const unsigned order_;
  const size_t words_;                  // at each end: order - 1
  const bool rightwards_;               // nothing is ever put before a string
  std::vector<uint32_t> right_, next_;  // n-grams of the last 1, 2 … words
};

}  // namespace hopefear
