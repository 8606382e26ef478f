// BLEU as a scorer of edges, for oracle, hope and fear derivations. [li2009oracle, eidelman2013]
#pragma once

#include <memory>
#include <vector>

#include "forest/expand.hpp"
#include "forest/ngram_walk.hpp"
#include "metrics/bleu_references.hpp"
#include "metrics/ngram_gain.hpp"

namespace hopefear {

// Adds sign * gain to the score of a derivation. The state is the words at both ends as far as an
// n-gram of a reference can begin or end with them, and on request the length; the numbers of
// matches are carried along, those of the best derivation of a state. Matches are not clipped: how
// often an n-gram matched elsewhere is not known. A partial derivation is held against the part of
// the reference length that its share of the source words has.
//
// The gain of an edge is that of its head minus those of its tails, so that a derivation's sum is
// the gain of its string; exactly so along each node's best derivation.
class GainScorer : public EdgeScorer {
 public:
  // `words`: number(word) of the references for each place of the target (numbered_target).
  // `source_words` is what a whole derivation covers; 0 if the forest does not say. All are
  // borrowed but `words`.
  GainScorer(const Forest& forest, const BleuReferences& references, size_t sentence,
             const NgramGain& gain, double sign, std::vector<uint32_t> words, uint32_t source_words,
             bool by_length);

  size_t state_size() const override { return 8 * ((4 * (walk_.size() + 1) + 7) / 8); }
  size_t payload_size() const override { return 8 + 4 * (size_t{order_} + 1); }
  double score(uint32_t edge, std::span<const std::byte* const> tails, std::byte* state) override;

 private:
  double reference_words(uint32_t node, size_t length);

  const Forest forest_;
  const BleuReferences& references_;
  const size_t sentence_;
  NgramWalk walk_;
  const NgramGain& gain_;
  const double sign_;
  const uint32_t source_words_;
  const bool by_length_;
  const unsigned order_;
};

}  // namespace hopefear
