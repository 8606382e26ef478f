// Consensus decoding: the derivation whose n-grams have the highest expected gain under the
// distribution of the forest. [kumar2009, tromble2008]
#pragma once

#include <vector>

#include "forest/expand.hpp"

namespace hopefear {

// Splits nodes by the first and last `order` - 1 words of their strings, so that every n-gram of a
// derivation is completed at exactly one edge. Adds nothing to scores.
class NgramScorer : public EdgeScorer {
 public:
  NgramScorer(const Forest& forest, unsigned order);
  // Number of words at each end, words of the left end, words of the right end.
  size_t state_size() const override { return 4 * (1 + 2 * size_t{order_ - 1}); }
  double score(uint32_t edge, std::span<const std::byte* const> tails, std::byte* state) override;
  double estimate(uint32_t) override { return 0; }

  // Calls f(span of words) for every n-gram that this edge completes from its own words and the
  // ends of its tails; n-grams inside a tail are not included.
  template <typename F>
  void for_new_ngrams(uint32_t edge, std::span<const std::byte* const> tails, F&& f);

 private:
  // Writes the string of an edge to string_, with only the ends of long tails and kGap for the
  // words left out.
  void lay_out(uint32_t edge, std::span<const std::byte* const> tails);
  static constexpr int32_t kGap = -1;
  const Forest forest_;
  const unsigned order_;
  std::vector<int32_t> string_;
  std::vector<uint32_t>
      part_;  // per word of string_: 1 + the tail it comes from; 0: the edge's own
};

struct ConsensusOptions {
  double scale;               // factor of the scores in the posterior (> 0; below 1 flattens it)
  std::vector<double> theta;  // theta_0 per word, theta_n per n-gram of n words
  size_t beam;                // pops per node when nodes are split; 0: no limit
};

// The split forest and the share of each of its edges in the expected gain: theta_0 for each word,
// and theta_n times its posterior for each n-gram of order n (Kumar et al. 2009, eq. 3 and 8). The
// posterior of an n-gram is its expected number in a derivation, at most 1: exact for n-grams that
// occur at most once in every derivation.
struct Consensus {
  Expanded split;               // has no goal
  std::vector<uint32_t> roots;  // in the split forest
  std::vector<double> gains;    // per edge of the split forest
};
Consensus consensus(const Forest& forest, Scores scores, Roots roots,
                    const ConsensusOptions& options);

}  // namespace hopefear
