#include "forest/string_sum.hpp"

#include <algorithm>
#include <cmath>

#include "base/interrupt.hpp"
#include "forest/expand.hpp"
#include "forest/string_scorer.hpp"

namespace hopefear {
namespace {

// Log of the sum of exp(scale * (score - best)) over the derivations of each node, relative to the
// node's best derivation: exactly 0 for a single one.
std::vector<double> relative_sums(const Forest& forest, Scores scores, const BestEdges& best,
                                  double scale) {
  const ForestView& a = forest.arrays();
  std::vector<double> result(forest.nodes(), kNever), terms;
  for (uint32_t n = 0; n < forest.nodes(); ++n) {
    if (best.edges[n] == kNoEdge) continue;
    terms.clear();
    double largest = kNever;
    for (uint32_t e = a.node_edges[n]; e < a.node_edges[n + 1]; ++e) {
      double score = scores[e], below = 0;
      for (const uint32_t tail : forest.tails(e)) {
        score += best.scores[tail];
        below += result[tail];
      }
      if (score == kNever) continue;
      terms.push_back(scale * (score - best.scores[n]) + below);
      largest = std::max(largest, terms.back());
    }
    double sum = 0;
    for (const double term : terms) sum += std::exp(term - largest);
    result[n] = largest + std::log(sum);
  }
  return result;
}

std::vector<double> counts(const Forest& forest, Scores scores) {
  const ForestView& a = forest.arrays();
  std::vector<double> result(forest.nodes(), 0);
  for (uint32_t e = 0; e < forest.edges(); ++e) {
    if (scores[e] == kNever) continue;
    double product = 1;
    for (const uint32_t tail : forest.tails(e)) product *= result[tail];
    result[a.heads[e]] += product;
  }
  return result;
}

}  // namespace

DerivationSum sum_of(const Forest& forest, Scores scores, Roots roots, double scale) {
  DerivationSum result;
  const BestEdges best = best_edges(forest, scores);
  uint32_t root = 0;
  for (const uint32_t r : roots) {
    if (best.scores[r] > result.best) {
      result.best = best.scores[r];
      root = r;
    }
  }
  if (result.best == kNever) return result;
  const std::vector<double> number = counts(forest, scores);
  for (const uint32_t r : roots) result.derivations += number[r];
  if (std::isinf(scale) || result.derivations == 1) {
    result.log_sum = result.best;
    result.features = features_of(
        {forest, expand_derivation(forest, root, [&](uint32_t n) { return best.edges[n]; }), 0});
    return result;
  }
  const std::vector<double> relative = relative_sums(forest, scores, best, scale);
  double sum = 0, largest = kNever;
  for (const uint32_t r : roots) {
    if (best.edges[r] == kNoEdge) continue;
    largest = std::max(largest, scale * (best.scores[r] - result.best) + relative[r]);
  }
  for (const uint32_t r : roots) {
    if (best.edges[r] == kNoEdge) continue;
    sum += std::exp(scale * (best.scores[r] - result.best) + relative[r] - largest);
  }
  result.log_sum = result.best + (largest + std::log(sum)) / scale;
  std::vector<double> scaled(scores.begin(), scores.end());
  for (double& score : scaled) {
    if (score != kNever) score *= scale;
  }
  result.features = feature_sum(forest, posterior(forest, scaled, roots).edges);
  return result;
}

StringSums::StringSums(const Forest& forest, Scores scores, Roots roots)
    : forest_(forest),
      scores_(scores),
      roots_(roots),
      words_(forest.arrays().target.size(), 0),
      alive_(forest.nodes(), 0),
      wanted_(forest.nodes(), 0),
      kept_(forest.edges(), kNever) {
  const auto target = forest.arrays().target;
  uint32_t used = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] < 0) continue;
    const auto [number, is_new] = numbers_.try_emplace(static_cast<uint64_t>(target[i]) + 1, 0);
    if (is_new) number = ++used;
    words_[i] = number;
  }
  occurs_.assign(used + 1, 0);
}

uint32_t StringSums::local(int32_t word) const {
  const uint32_t* number = word < 0 ? nullptr : numbers_.find(static_cast<uint64_t>(word) + 1);
  return number == nullptr ? 0 : *number;
}

void StringSums::find_edges(std::span<const int32_t> target) {
  const ForestView& a = forest_.arrays();
  std::fill(occurs_.begin(), occurs_.end(), 0);
  bigrams_.clear();
  uint32_t last = 0;
  for (const int32_t word : target) {
    const uint32_t now = local(word);
    if (now != 0) occurs_[now] = 1;
    if (now != 0 && last != 0) bigrams_.push_back(uint64_t{last} << 32 | now);
    last = now;
  }
  std::sort(bigrams_.begin(), bigrams_.end());
  const auto fits = [&](uint32_t e) {
    if (scores_[e] == kNever) return false;
    uint32_t before = 0;
    for (uint32_t i = a.target_begin[e]; i < a.target_begin[e + 1]; ++i) {
      const uint32_t word = words_[i];
      if (word != 0 && occurs_[word] == 0) return false;
      if (word != 0 && before != 0 &&
          !std::binary_search(bigrams_.begin(), bigrams_.end(), uint64_t{before} << 32 | word)) {
        return false;
      }
      before = word;
    }
    return true;
  };
  // Bottom up: edges with complete derivations; top down: those that the roots use.
  std::fill(alive_.begin(), alive_.end(), 0);
  for (uint32_t e = 0; e < forest_.edges(); ++e) {
    kept_[e] = kNever;
    const auto tails = forest_.tails(e);
    if (!std::all_of(tails.begin(), tails.end(), [&](uint32_t t) { return alive_[t] != 0; })) {
      continue;
    }
    if (!fits(e)) continue;
    kept_[e] = scores_[e];
    alive_[a.heads[e]] = 1;
  }
  std::fill(wanted_.begin(), wanted_.end(), 0);
  for (const uint32_t r : roots_) wanted_[r] = 1;
  for (uint32_t e = forest_.edges(); e-- > 0;) {
    if (wanted_[a.heads[e]] == 0) kept_[e] = kNever;
    if (kept_[e] == kNever) continue;
    for (const uint32_t tail : forest_.tails(e)) wanted_[tail] = 1;
  }
}

DerivationSum StringSums::sum(std::span<const int32_t> target, double scale, size_t limit) {
  poll_interrupt();
  find_edges(target);
  StringScorer scorer(forest_, target, /*others=*/false);
  const Expanded split =
      expand(forest_, kept_, scorer, {/*beam=*/0, limit, /*merge_goal=*/false, /*eager=*/false});
  std::vector<uint32_t> roots;
  const StringScorer::Place whole = {0, static_cast<uint32_t>(target.size())};
  for (uint32_t n = 0; n < split.nodes.size(); ++n) {
    if (std::binary_search(roots_.begin(), roots_.end(), split.nodes[n]) &&
        StringScorer::place(split.states.data() + n * split.stride) == whole) {
      roots.push_back(n);
    }
  }
  return sum_of(split.forest, split.scores, roots, scale);
}

}  // namespace hopefear
