#include "forest/select.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "forest/builder.hpp"

namespace hopefear {
namespace {

// Drops edges with a tail that has no derivation, then those that no root reaches.
void keep_useful(const Forest& forest, Roots roots, EdgeMask& kept) {
  const ForestView& a = forest.arrays();
  std::vector<uint8_t> derivable(forest.nodes(), 0), reached(forest.nodes(), 0);
  for (uint32_t e = 0; e < forest.edges(); ++e) {
    for (const uint32_t t : forest.tails(e)) kept[e] &= derivable[t];
    derivable[a.heads[e]] |= kept[e];
  }
  for (const uint32_t r : roots) reached[r] = 1;
  for (uint32_t e = forest.edges(); e-- > 0;) {
    kept[e] &= reached[a.heads[e]];
    if (kept[e] == 0) continue;
    for (const uint32_t t : forest.tails(e)) reached[t] = 1;
  }
}

}  // namespace

EdgeMask useful_edges(const Forest& forest, Roots roots) {
  EdgeMask kept(forest.edges(), 1);
  keep_useful(forest, roots, kept);
  return kept;
}

EdgeMask margin_mask(const Forest& forest, Scores scores, Roots roots, double margin) {
  const std::vector<double> through = max_marginals(forest, scores, roots);
  double best = kNever;
  for (const double t : through) best = std::max(best, t);
  // Tolerance: the score of one derivation differs in the last bits when summed in different
  // orders.
  const double least = best - margin - 1e-10 * (1 + std::abs(best));
  EdgeMask kept(forest.edges(), 0);
  if (best == kNever) return kept;
  for (uint32_t e = 0; e < forest.edges(); ++e) kept[e] = through[e] >= least;
  keep_useful(forest, roots, kept);
  return kept;
}

EdgeMask posterior_mask(const Forest& forest, Scores scores, Roots roots, double threshold) {
  const Posterior p = posterior(forest, scores, roots);
  EdgeMask kept(forest.edges(), 0);
  for (uint32_t e = 0; e < forest.edges(); ++e) {
    kept[e] = p.edges[e] > 0 && p.edges[e] >= threshold * (1 - 1e-12);
  }
  if (const auto best = viterbi(forest, scores, roots)) {
    for (const uint32_t e : best->edges) kept[e] = 1;
  }
  keep_useful(forest, roots, kept);
  return kept;
}

Forest select(const Forest& forest, std::span<const uint8_t> kept, bool keep_nodes) {
  if (kept.size() != forest.edges())
    throw std::invalid_argument("expected one mask entry per edge");
  const ForestView& a = forest.arrays();
  std::vector<uint8_t> used(forest.nodes(), keep_nodes ? 1 : 0);
  for (uint32_t e = 0; e < forest.edges(); ++e) {
    if (kept[e] == 0) continue;
    used[a.heads[e]] = 1;
    for (const uint32_t t : forest.tails(e)) used[t] = 1;
  }
  if (forest.goal().has_value()) used[*forest.goal()] = 1;

  ForestBuilder builder(forest.vocabulary(), forest.names());
  std::vector<uint32_t> node(forest.nodes(), 0), row(forest.rows(), kNoRow);
  for (uint32_t n = 0; n < forest.nodes(); ++n) {
    if (used[n] == 0) continue;
    node[n] = builder.add_node(
        {a.covered[n], a.spans[2 * n], a.spans[2 * n + 1], a.symbols[n], forest.coverage(n)});
  }
  std::vector<FeatureEntry> entries;
  std::vector<uint32_t> tails;
  const auto add = [&](uint32_t f, float value) {
    entries.push_back({builder.feature(a.feature_ids[f]), value});
  };
  for (uint32_t e = 0; e < forest.edges(); ++e) {
    if (kept[e] == 0) continue;
    if (a.rows[e] != kNoRow && row[a.rows[e]] == kNoRow) {
      entries.clear();
      for_row_features(a, a.rows[e], add);
      row[a.rows[e]] = builder.add_row(entries);
    }
    entries.clear();
    for_own_features(a, e, add);
    tails.clear();
    for (const uint32_t t : forest.tails(e)) tails.push_back(node[t]);
    builder.add_edge(node[a.heads[e]], tails, forest.target(e),
                     a.rows[e] == kNoRow ? kNoRow : row[a.rows[e]], entries, a.rules[e]);
  }
  std::optional<uint32_t> goal;
  if (forest.goal().has_value()) goal = node[*forest.goal()];
  return builder.finish(goal, forest.id());
}

}  // namespace hopefear
