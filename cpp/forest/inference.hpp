// Best derivations, sums over derivations and expectations. Functions that take `roots` consider
// the derivations that end in one of these nodes; roots ascend without repetition.
//
// An edge with score -infinity is forbidden: no function considers a derivation that uses it.
// Scores and log probabilities are natural logs; a node or edge without a derivation has -infinity.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "forest/derivation.hpp"
#include "forest/score.hpp"

namespace hopefear {

using Roots = std::span<const uint32_t>;
inline constexpr double kNever = -std::numeric_limits<double>::infinity();
inline constexpr uint32_t kNoEdge = 0xffffffff;

// The roots, sorted and without repetitions. std::invalid_argument for a root that is not a node.
std::vector<uint32_t> check_roots(const Forest& forest, Roots roots);

struct BestEdges {
  std::vector<double> scores;   // per node: of its best derivation
  std::vector<uint32_t> edges;  // per node: the top edge of that derivation, kNoEdge for none
};
// Ties go to the smaller edge number. O(E + tails).
BestEdges best_edges(const Forest& forest, Scores scores);
// Ties between roots go to the smaller node.
std::optional<Derivation> viterbi(const Forest& forest, Scores scores, Roots roots);
// The best derivation of each of the nodes; one pass over the forest for all of them.
std::vector<std::optional<Derivation>> viterbi_each(const Forest& forest, Scores scores,
                                                    std::span<const uint32_t> nodes);
// Per edge: the score of the best derivation of the roots that uses it.
std::vector<double> max_marginals(const Forest& forest, Scores scores, Roots roots);

// Per node: log of the sum of exp(score) over its derivations.
std::vector<double> inside(const Forest& forest, Scores scores);
// Per node: log of d Z / d exp(inside of the node), where Z is the sum over the derivations of the
// roots.
std::vector<double> outside(const Forest& forest, Scores scores, std::span<const double> inside,
                            Roots roots);
double log_partition(std::span<const double> inside, Roots roots);

// The distribution over derivations of the roots, top down: p(derivation) is the product of
// p(root) and of p(edge | head) for all its edges.
struct Posterior {
  double log_z = kNever;
  std::vector<double> inside;       // N
  std::vector<double> conditional;  // E: p(edge | head), 0 where the head has no derivation
  std::vector<double> root;         // per root: p(root)
  std::vector<double> nodes;        // N: expected number of uses
  std::vector<double> edges;        // E: expected number of uses
};
// With repeated tails an expected number of uses may be larger than 1. The sums run in the linear
// domain over probabilities (each p(edge | head) comes from a log-sum-exp), so nothing overflows
// and underflow to 0 does no harm.
Posterior posterior(const Forest& forest, Scores scores, Roots roots);
// -sum p log p (in nats), as a sum of the entropies of all choices, which avoids cancellation.
double entropy(const Forest& forest, const Posterior& posterior);

// The expectation of a gain that is additive over edges, and its derivatives.
struct Expectation {
  double value = 0;
  std::vector<double> edges;  // E: derivative for the edge's score = covariance of the gain with
                              // the number of the edge's uses
};
// Second-order expectation semiring [li2009] in O(E + tails), whatever the number of features: the
// gradient is taken in reverse, from the roots down, instead of carrying vectors upwards.
Expectation expectation(const Forest& forest, const Posterior& posterior,
                        std::span<const double> gains, Roots roots);

// A derivation is a tree, whose size may be exponential in that of a forest where nodes are reused;
// derivations of more edges than this are refused (InputError).
inline constexpr size_t kLongestDerivation = size_t{1} << 24;
void check_derivation_size(const Forest& forest, size_t edges);

// The edges of a derivation in pre-order; next(node) returns the edge chosen at a node.
template <typename Next>
std::vector<uint32_t> expand_derivation(const Forest& forest, uint32_t root, Next&& next) {
  std::vector<uint32_t> edges, open = {root};
  while (!open.empty()) {
    const uint32_t edge = next(open.back());
    open.pop_back();
    edges.push_back(edge);
    check_derivation_size(forest, edges.size());
    const std::span<const uint32_t> tails = forest.tails(edge);
    open.insert(open.end(), tails.rbegin(), tails.rend());
  }
  return edges;
}

}  // namespace hopefear
