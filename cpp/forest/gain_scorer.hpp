// BLEU as a scorer of edges, for oracle, hope and fear derivations. [li2009oracle, eidelman2013]
#pragma once

#include <memory>
#include <vector>

#include "forest/expand.hpp"
#include "forest/ngram_walk.hpp"
#include "metrics/bleu_references.hpp"
#include "metrics/ngram_gain.hpp"

namespace hopefear {

// Adds sign * gain to the score of a derivation. The state is the words at both ends, as far as an
// n-gram of a reference can begin or end with them, and with `by_length` the length. The payload is
// the numbers of matches, so a node has those of its best derivation. Matches are not clipped: the
// counts elsewhere in the derivation are unknown. A partial derivation is compared with a part of
// the reference length, in proportion to the source words that it covers.
//
// The gain of an edge is that of its head minus those of its tails, so that the sum over a
// derivation is the gain of its string; this is exact along each node's best derivation.
class GainScorer : public EdgeScorer {
 public:
  // `words`: the references' number of the word at each index of the target array
  // (numbered_target). `source_words`: number of source words of a complete derivation, 0 if
  // unknown. The references and the gain are borrowed.
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
