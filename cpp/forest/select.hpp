// Selecting a part of a forest: the edges that derivations use, pruning, and the forest of the kept
// edges.
#pragma once

#include <cstdint>
#include <vector>

#include "forest/inference.hpp"

namespace hopefear {

using EdgeMask = std::vector<uint8_t>;  // per edge: 1 to keep

// Edges that some derivation of the roots uses, regardless of scores. O(E + tails).
EdgeMask useful_edges(const Forest& forest, Roots roots);

// Useful edges whose best derivation scores at least the best one minus `margin`.
EdgeMask margin_mask(const Forest& forest, Scores scores, Roots roots, double margin);

// Edges whose expected number of uses is at least `threshold`, and those of the best derivation; of
// these only the ones that are still useful.
EdgeMask posterior_mask(const Forest& forest, Scores scores, Roots roots, double threshold);

// The forest of the kept edges, in their order. Nodes without a kept edge are dropped, except the
// goal; with `keep_nodes` all nodes stay. Rows, features, labels, words and the goal do not change.
Forest select(const Forest& forest, std::span<const uint8_t> kept, bool keep_nodes);

}  // namespace hopefear
