// Scores of edges under weights, and sums of features over edges.
#pragma once

#include <span>
#include <vector>

#include "forest/forest.hpp"

namespace hopefear {

// Natural logs or any other additive unit; -infinity forbids an edge.
using Scores = std::span<const double>;

// w.f of every edge, in double. Weights are gathered once (one hash look-up per feature of the
// forest), every row is multiplied once, however many edges share it.
std::vector<double> edge_scores(const Forest& forest, const Weights& weights);
// Takes the weights by local feature number instead.
std::vector<double> edge_scores(const Forest& forest, std::span<const double> weights);

// Throws std::invalid_argument unless there is one score per edge, none of them NaN or +infinity.
void check_scores(const Forest& forest, Scores scores);

// The sum over edges of factor * features. One factor per edge; O(E + R + entries).
SparseVector feature_sum(const Forest& forest, std::span<const double> factors);
// The same sum by local feature number, in double.
std::vector<double> feature_sums(const Forest& forest, std::span<const double> factors);

}  // namespace hopefear
