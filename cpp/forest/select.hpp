// Parts of a forest: what derivations of the roots use, what pruning leaves.
#pragma once

#include <cstdint>
#include <vector>

#include "forest/inference.hpp"

namespace hopefear {

using EdgeMask = std::vector<uint8_t>;  // per edge: 1 to keep

// Edges that some derivation of the roots uses, whatever the scores. O(E + tails).
EdgeMask useful_edges(const Forest& forest, Roots roots);

// Useful edges whose best derivation scores at least the best one minus `margin`.
EdgeMask margin_mask(const Forest& forest, Scores scores, Roots roots, double margin);

// Edges whose expected number of uses is at least `threshold`, and those of the best derivation;
// then only what is still useful.
EdgeMask posterior_mask(const Forest& forest, Scores scores, Roots roots, double threshold);

// The forest of the kept edges: edge i of it is the i-th kept one. Nodes without a kept edge go,
// except the goal and with `keep_nodes` all of them. Rows, features, labels, words and the goal
// stay what they are.
Forest select(const Forest& forest, std::span<const uint8_t> kept, bool keep_nodes);

}  // namespace hopefear
