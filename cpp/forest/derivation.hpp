// A derivation: one hyperpath of a forest.
#pragma once

#include <cstdint>
#include <vector>

#include "forest/forest.hpp"

namespace hopefear {

// Edges are in pre-order: an edge, then the derivation of its first tail, of its second … An edge
// that is used twice occurs twice. Since every edge has a fixed number of tails, the sequence
// determines the tree.
struct Derivation {
  Forest forest;
  std::vector<uint32_t> edges;
  double score = 0;  // the sum of the edges' scores

  uint32_t root() const { return forest.arrays().heads[edges.front()]; }
};

// The target string as word numbers of the forest's vocabulary. O(length), no recursion.
std::vector<int32_t> words_of(const Derivation& derivation);
SparseVector features_of(const Derivation& derivation);

// For each edge of the sequence the positions of its tails' edges: those of the edge at position i
// are children[begin[i] .. begin[i + 1]). std::invalid_argument if the sequence is not a tree.
struct DerivationTree {
  std::vector<uint32_t> begin, children;
};
DerivationTree tree_of(const Forest& forest, std::span<const uint32_t> edges);

}  // namespace hopefear
