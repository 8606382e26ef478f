// Best derivations, sums over derivations and expectations. Everything is asked about `roots`, the
// derivations that end in one of these nodes; ascending, without repetition.
//
// An edge with score -infinity is forbidden: no derivation that uses it exists for any of these
// functions. What does not exist has score and log probability -infinity.
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

// Throws std::invalid_argument for a root that is no node. Sorts, and drops repetitions.
std::vector<uint32_t> check_roots(const Forest& forest, Roots roots);

struct BestEdges {
  std::vector<double> scores;   // per node: of its best derivation
  std::vector<uint32_t> edges;  // per node: the first edge of it, kNoEdge if there is none
};
// Ties go to the smaller edge number. O(E + tails).
BestEdges best_edges(const Forest& forest, Scores scores);
// Ties between roots go to the smaller node.
std::optional<Derivation> viterbi(const Forest& forest, Scores scores, Roots roots);
// The best derivation of each node by itself; one pass over the forest for all of them.
std::vector<std::optional<Derivation>> viterbi_each(const Forest& forest, Scores scores,
                                                    std::span<const uint32_t> nodes);
// Score of the best derivation of the roots that uses an edge, per edge.
std::vector<double> max_marginals(const Forest& forest, Scores scores, Roots roots);

// Log of the sum over a node's derivations of exp(score), per node.
std::vector<double> inside(const Forest& forest, Scores scores);
// Log of d Z / d exp(inside of the node), where Z is the sum over the derivations of the roots.
std::vector<double> outside(const Forest& forest, Scores scores, std::span<const double> inside,
                            Roots roots);
double log_partition(std::span<const double> inside, Roots roots);

// The distribution over derivations of the roots, top down: p(derivation) is the product of
// p(root) and of p(edge | head) for all its edges.
struct Posterior {
  double log_z = kNever;
  std::vector<double> inside;       // N
  std::vector<double> conditional;  // E: p(edge | head), 0 where the head has no derivation
  std::vector<double> root;         // of each root: p(root)
  std::vector<double> nodes;        // N: expected number of uses
  std::vector<double> edges;        // E: expected number of uses
};
// With repeated tails an expected number of uses may be larger than 1. The sums run in the linear
// domain over probabilities (each p(edge | head) comes from a log-sum-exp), so nothing overflows
// and what underflows is 0 anyway.
Posterior posterior(const Forest& forest, Scores scores, Roots roots);
// -sum p log p, as a sum of the entropies of all choices: no cancellation.
double entropy(const Forest& forest, const Posterior& posterior);

// The expectation of a gain that is a sum over edges, and its derivatives.
struct Expectation {
  double value = 0;
  std::vector<double> edges;  // E: derivative for the edge's score = covariance of the gain with
                              // the number of the edge's uses
};
// Second-order expectation semiring [li2009] in O(E + tails), whatever the number of features: the
// gradient is taken in reverse, from the roots down, instead of carrying vectors upwards.
Expectation expectation(const Forest& forest, const Posterior& posterior,
                        std::span<const double> gains, Roots roots);

// A derivation is a tree, and where nodes are used again and again its size may grow exponentially
// with the forest's; one of more edges than this is refused (std::length_error), not written out.
inline constexpr size_t kLongestDerivation = size_t{1} << 24;
void check_derivation_size(size_t edges);

// The edges of a derivation in pre-order; next(node) gives the edge chosen at a node.
template <typename Next>
std::vector<uint32_t> expand_derivation(const Forest& forest, uint32_t root, Next&& next) {
  std::vector<uint32_t> edges, open = {root};
  while (!open.empty()) {
    const uint32_t edge = next(open.back());
    open.pop_back();
    edges.push_back(edge);
    check_derivation_size(edges.size());
    const std::span<const uint32_t> tails = forest.tails(edge);
    open.insert(open.end(), tails.rbegin(), tails.rend());
  }
  return edges;
}

}  // namespace hopefear
