#include "learn/bins.hpp"

#include <algorithm>
#include <numeric>

#include "base/hash.hpp"
#include "base/interrupt.hpp"
#include "forest/inference.hpp"

namespace hopefear {

BinRows collect_bins(const Forest& forest, const Weights& weights, uint32_t first, uint32_t last,
                     const Completion& completion) {
  const ForestView& a = forest.arrays();
  const std::vector<double> scores = edge_scores(forest, weights);
  const BestEdges best = best_edges(forest, scores);
  std::vector<std::vector<uint32_t>> bins(last >= first ? size_t{last} - first + 1 : 0);
  for (uint32_t node = 0; node < forest.nodes(); ++node) {
    const uint32_t covered = a.covered[node];
    if (covered < first || covered > last || forest.goal() == node) continue;
    if (best.edges[node] != kNoEdge) bins[covered - first].push_back(node);
  }
  BinRows found;
  std::vector<SparseVector> future;  // of the nodes of a bin
  std::vector<std::vector<uint32_t>> options;
  std::vector<int32_t> words;
  std::vector<double> totals;
  std::vector<uint32_t> order;
  std::string partial;
  for (const std::vector<uint32_t>& nodes : bins) {
    const Future* any = completion.strings != nullptr ? completion.strings : completion.features;
    options.resize(std::max(options.size(), nodes.size()));
    future.assign(completion.features != nullptr ? nodes.size() : 0, {});
    totals.clear();
    for (size_t i = 0; i < nodes.size(); ++i) {
      totals.push_back(best.scores[nodes[i]]);
      if (any != nullptr) any->options(forest.coverage(nodes[i]), options[i]);
      if (completion.features != nullptr) {
        future[i] = completion.features->features(options[i]);
        for (size_t f = 0; f < future[i].size(); ++f) {
          totals[i] += double{weights.get(future[i].ids()[f])} * future[i].values()[f];
        }
      }
    }
    order.resize(nodes.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t x, uint32_t y) { return totals[x] > totals[y]; });
    for (const uint32_t i : order) {
      poll_interrupt();
      const uint32_t node = nodes[i];
      const Derivation derivation{
          forest, expand_derivation(forest, node, [&](uint32_t n) { return best.edges[n]; }),
          best.scores[node]};
      partial.clear();
      append_words(words_of(derivation), *forest.vocabulary(), partial);
      const SparseVector own = features_of(derivation);
      found.rows.add(partial, future.empty() ? own : own.plus(future[i]));
      for (const uint64_t bits : forest.coverage(node)) {
        found.rows.keys.back() = combine64(found.rows.keys.back(), bits);
      }
      found.scores.push_back(totals[i]);
      if (completion.strings != nullptr) {
        words.clear();
        completion.strings->words(options[i], words);
        append_words(words, completion.strings->vocabulary(), partial);
      }
      found.text += partial;
      found.text_begin.push_back(found.text.size());
    }
    found.bins.push_back(static_cast<int64_t>(found.size()));
  }
  return found;
}

}  // namespace hopefear
