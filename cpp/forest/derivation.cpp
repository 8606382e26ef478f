#include "forest/derivation.hpp"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

namespace hopefear {

DerivationTree tree_of(const Forest& forest, std::span<const uint32_t> edges) {
  DerivationTree tree;
  tree.begin = {0};
  for (const uint32_t e : edges) {
    if (e >= forest.edges()) throw std::invalid_argument("no such edge: " + std::to_string(e));
    tree.begin.push_back(tree.begin.back() + static_cast<uint32_t>(forest.tails(e).size()));
  }
  tree.children.resize(tree.begin.back());
  // From the right: the roots of finished subtrees, leftmost on top.
  std::vector<uint32_t> roots;
  for (size_t i = edges.size(); i-- > 0;) {
    const std::span<const uint32_t> tails = forest.tails(edges[i]);
    if (roots.size() < tails.size()) throw std::invalid_argument("the edges are not a derivation");
    for (size_t k = 0; k < tails.size(); ++k) {
      const uint32_t child = roots.back();
      roots.pop_back();
      if (forest.arrays().heads[edges[child]] != tails[k]) {
        throw std::invalid_argument("the edges are not a derivation");
      }
      tree.children[tree.begin[i] + k] = child;
    }
    roots.push_back(static_cast<uint32_t>(i));
  }
  if (roots.size() != 1) throw std::invalid_argument("the edges are not a derivation");
  return tree;
}

std::vector<int32_t> words_of(const Derivation& derivation) {
  const Forest& forest = derivation.forest;
  const DerivationTree tree = tree_of(forest, derivation.edges);
  struct Place {
    uint32_t at;    // in the sequence of edges
    size_t symbol;  // of its target side
  };
  std::vector<Place> stack = {{0, 0}};
  std::vector<int32_t> words;
  while (!stack.empty()) {
    Place& place = stack.back();
    const std::span<const int32_t> target = forest.target(derivation.edges[place.at]);
    if (place.symbol == target.size()) {
      stack.pop_back();
      continue;
    }
    const int32_t symbol = target[place.symbol++];
    if (symbol >= 0) {
      words.push_back(symbol);
    } else {
      stack.push_back(
          {tree.children[tree.begin[place.at] + static_cast<uint32_t>(-1 - symbol)], 0});
    }
  }
  return words;
}

SparseVector features_of(const Derivation& derivation) {
  const Forest& forest = derivation.forest;
  const ForestView& a = forest.arrays();
  std::vector<FeatureId> ids;
  std::vector<float> values;
  const auto put = [&](uint32_t feature, double sum) {
    if (sum == 0) return;
    ids.push_back(a.feature_ids[feature]);
    values.push_back(static_cast<float>(sum));
  };
  const auto for_all = [&](const auto& add) {
    for (const uint32_t e : derivation.edges) {
      if (a.rows[e] != kNoRow) for_row_features(a, a.rows[e], add);
      for_own_features(a, e, add);
    }
  };
  // A table is faster than a map, but most of a large forest's features do not occur.
  if (forest.features() <= 8192) {
    std::vector<double> sums(forest.features(), 0);
    for_all([&](uint32_t feature, float value) { sums[feature] += value; });
    for (uint32_t feature = 0; feature < sums.size(); ++feature) put(feature, sums[feature]);
  } else {
    std::unordered_map<uint32_t, double> sums;
    for_all([&](uint32_t feature, float value) { sums[feature] += value; });
    for (const auto& [feature, sum] : sums) put(feature, sum);
  }
  return SparseVector(ids, values);
}

}  // namespace hopefear
