// Consensus decoding: the derivation whose n-grams are likely under the whole forest.
// [kumar2009, tromble2008]
#pragma once

#include <vector>

#include "forest/expand.hpp"

namespace hopefear {

// Splits nodes by the first and last `order` - 1 words of their strings, so that every n-gram is
// made at one edge of a derivation. Adds nothing to scores.
class NgramScorer : public EdgeScorer {
 public:
  NgramScorer(const Forest& forest, unsigned order);
  // Number of words at each end, words of the left end, words of the right end.
  size_t state_size() const override { return 4 * (1 + 2 * size_t{order_ - 1}); }
  double score(uint32_t edge, std::span<const std::byte* const> tails, std::byte* state) override;
  double estimate(uint32_t) override { return 0; }

  // f(n-gram: span of words) for every n-gram that this edge makes of its words and of what its
  // tails end and begin with; those inside of tails are not its own.
  template <typename F>
  void for_new_ngrams(uint32_t edge, std::span<const std::byte* const> tails, F&& f);

 private:
  // The string of an edge with only the ends of long tails; kGap where words are left out.
  void lay_out(uint32_t edge, std::span<const std::byte* const> tails);
  static constexpr int32_t kGap = -1;
  const Forest forest_;
  const unsigned order_;
  std::vector<int32_t> string_;
  std::vector<uint32_t> part_;  // of each word: the tail that it comes from + 1; 0: the edge's own
};

struct ConsensusOptions {
  double scale;               // of the scores, for the posterior (> 0; below 1 is flatter)
  std::vector<double> theta;  // of a word, and of an n-gram of 1, 2 … words that is certain
  size_t beam;                // pops per node when nodes are split; 0: everything
};

// For each edge of the split forest what it adds to the expected gain: theta_0 for each word, and
// for each n-gram of order n theta_n times its posterior (Kumar et al. 2009, eq. 3 and 8). The
// posterior of an n-gram is its expected number in a derivation, 1 at most: exact for n-grams that
// no derivation has twice.
struct Consensus {
  Expanded split;               // without a goal
  std::vector<uint32_t> roots;  // of it
  std::vector<double> gains;    // of its edges
};
Consensus consensus(const Forest& forest, Scores scores, Roots roots,
                    const ConsensusOptions& options);

}  // namespace hopefear
