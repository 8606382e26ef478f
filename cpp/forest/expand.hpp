// Splits the nodes of a forest by the states of a scorer, with cube pruning: the one function that
// brings a stateful score (a language model over a chart, BLEU, a string automaton) into a forest.
// [chiang2007, huang2007]
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "forest/builder.hpp"
#include "forest/forest.hpp"
#include "forest/inference.hpp"

namespace hopefear {

// Scores an edge when the states of its tails are known. One thread at a time uses a scorer, so it
// may have scratch memory; what it returns depends on its arguments only.
class EdgeScorer {
 public:
  virtual ~EdgeScorer() = default;
  // States are so many bytes, compared and hashed as such: write all of them. At the goal a scorer
  // that has nothing to remember there writes zeros.
  virtual size_t state_size() const = 0;
  // Writes the state of the head; returns what is added to the edge's score, -infinity to forbid
  // it. One state per tail, in their order.
  virtual double score(uint32_t edge, std::span<const std::byte* const> tails,
                       std::byte* state) = 0;
  // The features behind that score, for the edges that are kept: local numbers of `builder`.
  virtual void record(uint32_t edge, std::span<const std::byte* const> tails,
                      ForestBuilder& builder, std::vector<FeatureEntry>& own);
};

struct ExpandOptions {
  size_t beam = 0;            // pops per node of the forest; 0: everything, exactly
  size_t limit = 50'000'000;  // edges in all; more is an InputError
};

struct Expanded {
  Forest forest;
  std::vector<uint32_t> edges;    // of each new edge: the old one
  std::vector<uint32_t> nodes;    // of each new node: the old one
  std::vector<double> scores;     // of each new edge, with what the scorer added
  std::vector<std::byte> states;  // state_size() bytes for each new node
};

// `scores` are those of the edges without the scorer. Nodes without a derivation disappear; the
// goal's states become one node.
Expanded expand(const Forest& forest, Scores scores, EdgeScorer& scorer,
                const ExpandOptions& options);

}  // namespace hopefear
