#include "forest/inference.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "base/error.hpp"

namespace hopefear {
namespace {

// A sum of exponentials, kept as largest * (sum of the rest relative to it).
struct LogSum {
  double largest = kNever, sum = 0;
  void add(double x) {
    if (x <= largest) {
      if (x != kNever) sum += std::exp(x - largest);
    } else {
      sum = largest == kNever ? 1 : sum * std::exp(largest - x) + 1;
      largest = x;
    }
  }
  double log() const { return largest == kNever ? kNever : largest + std::log(sum); }
};

// Calls f(node, first edge, last edge) in topological order.
template <typename F>
void upwards(const Forest& forest, F&& f) {
  const ForestView& a = forest.arrays();
  for (uint32_t n = 0; n < forest.nodes(); ++n) f(n, a.node_edges[n], a.node_edges[n + 1]);
}

// The score of an edge plus the values of its tails.
double combine(const ForestView& a, Scores scores, const double* values, uint32_t e) {
  double score = scores[e];
  for (uint32_t i = a.tail_begin[e]; i < a.tail_begin[e + 1]; ++i) score += values[a.tails[i]];
  return score;
}

// Inside values; with `conditional`, also p(edge | head).
std::vector<double> inside_pass(const Forest& forest, Scores scores, double* conditional) {
  const ForestView& a = forest.arrays();
  std::vector<double> result(forest.nodes());
  std::vector<double> terms;
  upwards(forest, [&](uint32_t n, uint32_t begin, uint32_t end) {
    terms.resize(end - begin);
    double largest = kNever;
    for (uint32_t e = begin; e < end; ++e) {
      terms[e - begin] = combine(a, scores, result.data(), e);
      largest = std::max(largest, terms[e - begin]);
    }
    if (largest == kNever) {
      result[n] = kNever;
      return;
    }
    double sum = 0;
    for (double& term : terms) sum += term = std::exp(term - largest);
    result[n] = largest + std::log(sum);
    if (conditional == nullptr) return;
    for (uint32_t e = begin; e < end; ++e) conditional[e] = terms[e - begin] / sum;
  });
  return result;
}

}  // namespace

void check_derivation_size(const Forest& forest, size_t edges) {
  if (edges > kLongestDerivation) {
    throw InputError("forest " + shown(forest.id()) + ": a derivation has more than " +
                     std::to_string(kLongestDerivation) +
                     " edges, because nodes are tails again and again; correct or drop the forest");
  }
}

std::vector<uint32_t> check_roots(const Forest& forest, Roots roots) {
  std::vector<uint32_t> sorted(roots.begin(), roots.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (!sorted.empty() && sorted.back() >= forest.nodes()) {
    throw std::invalid_argument("root " + std::to_string(sorted.back()) + " of a forest of " +
                                std::to_string(forest.nodes()) + " nodes");
  }
  return sorted;
}

BestEdges best_edges(const Forest& forest, Scores scores) {
  const ForestView& a = forest.arrays();
  BestEdges best;
  best.scores.resize(forest.nodes());
  best.edges.resize(forest.nodes());
  upwards(forest, [&](uint32_t n, uint32_t begin, uint32_t end) {
    double score = kNever;
    uint32_t edge = kNoEdge;
    for (uint32_t e = begin; e < end; ++e) {
      const double candidate = combine(a, scores, best.scores.data(), e);
      if (candidate > score) {
        score = candidate;
        edge = e;
      }
    }
    best.scores[n] = score;
    best.edges[n] = edge;
  });
  return best;
}

std::optional<Derivation> viterbi(const Forest& forest, Scores scores, Roots roots) {
  const BestEdges best = best_edges(forest, scores);
  double score = kNever;
  uint32_t root = 0;
  for (const uint32_t r : roots) {
    if (best.scores[r] > score) {
      score = best.scores[r];
      root = r;
    }
  }
  if (score == kNever) return std::nullopt;
  return Derivation{
      forest, expand_derivation(forest, root, [&](uint32_t n) { return best.edges[n]; }), score};
}

std::vector<std::optional<Derivation>> viterbi_each(const Forest& forest, Scores scores,
                                                    std::span<const uint32_t> nodes) {
  const BestEdges best = best_edges(forest, scores);
  std::vector<std::optional<Derivation>> result(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (best.edges[nodes[i]] == kNoEdge) continue;
    result[i] = Derivation{
        forest, expand_derivation(forest, nodes[i], [&](uint32_t n) { return best.edges[n]; }),
        best.scores[nodes[i]]};
  }
  return result;
}

std::vector<double> max_marginals(const Forest& forest, Scores scores, Roots roots) {
  const ForestView& a = forest.arrays();
  const std::vector<double> best = best_edges(forest, scores).scores;
  std::vector<double> above(forest.nodes(), kNever), result(forest.edges(), kNever);
  for (const uint32_t r : roots) above[r] = 0;
  for (uint32_t e = forest.edges(); e-- > 0;) {
    const double through = above[a.heads[e]] + combine(a, scores, best.data(), e);
    if (through == kNever) continue;
    result[e] = through;
    for (uint32_t i = a.tail_begin[e]; i < a.tail_begin[e + 1]; ++i) {
      above[a.tails[i]] = std::max(above[a.tails[i]], through - best[a.tails[i]]);
    }
  }
  return result;
}

std::vector<double> inside(const Forest& forest, Scores scores) {
  return inside_pass(forest, scores, nullptr);
}

double log_partition(std::span<const double> inside, Roots roots) {
  LogSum sum;
  for (const uint32_t r : roots) sum.add(inside[r]);
  return sum.log();
}

std::vector<double> outside(const Forest& forest, Scores scores, std::span<const double> inside,
                            Roots roots) {
  const ForestView& a = forest.arrays();
  std::vector<LogSum> sums(forest.nodes());
  for (const uint32_t r : roots) sums[r].add(0);
  std::vector<double> result(forest.nodes());
  for (uint32_t n = forest.nodes(); n-- > 0;) {
    result[n] = sums[n].log();
    if (result[n] == kNever) continue;
    for (uint32_t e = a.node_edges[n]; e < a.node_edges[n + 1]; ++e) {
      if (scores[e] == kNever) continue;
      // A tail without a derivation: its outside value is still defined if it is the only such
      // tail; the other tails then get no contribution.
      double through = result[n] + scores[e];
      uint32_t missing = 0, tail = 0;
      for (uint32_t i = a.tail_begin[e]; i < a.tail_begin[e + 1]; ++i) {
        if (inside[a.tails[i]] == kNever) {
          ++missing;
          tail = a.tails[i];
        } else {
          through += inside[a.tails[i]];
        }
      }
      if (missing == 1) sums[tail].add(through);
      if (missing > 0) continue;
      for (uint32_t i = a.tail_begin[e]; i < a.tail_begin[e + 1]; ++i) {
        sums[a.tails[i]].add(through - inside[a.tails[i]]);
      }
    }
  }
  return result;
}

Posterior posterior(const Forest& forest, Scores scores, Roots roots) {
  const ForestView& a = forest.arrays();
  Posterior p;
  p.conditional.assign(forest.edges(), 0);
  p.inside = inside_pass(forest, scores, p.conditional.data());
  p.log_z = log_partition(p.inside, roots);
  p.nodes.assign(forest.nodes(), 0);
  p.edges.assign(forest.edges(), 0);
  p.root.assign(roots.size(), 0);
  if (p.log_z == kNever) return p;
  double total = 0;
  for (size_t i = 0; i < roots.size(); ++i) {
    total += p.root[i] = std::exp(p.inside[roots[i]] - p.log_z);
  }
  for (size_t i = 0; i < roots.size(); ++i) {
    p.root[i] /= total;
    p.nodes[roots[i]] = p.root[i];
  }
  for (uint32_t e = forest.edges(); e-- > 0;) {
    const double uses = p.edges[e] = p.nodes[a.heads[e]] * p.conditional[e];
    if (uses == 0) continue;
    for (uint32_t i = a.tail_begin[e]; i < a.tail_begin[e + 1]; ++i) p.nodes[a.tails[i]] += uses;
  }
  return p;
}

double entropy(const Forest& forest, const Posterior& p) {
  const auto term = [](double x) { return x > 0 ? -x * std::log(x) : 0; };
  double result = 0;
  for (const double x : p.root) result += term(x);
  for (uint32_t e = 0; e < forest.edges(); ++e) {
    const double uses = p.nodes[forest.arrays().heads[e]];
    if (uses > 0) result += uses * term(p.conditional[e]);
  }
  return result;
}

Expectation expectation(const Forest& forest, const Posterior& p, std::span<const double> gains,
                        Roots roots) {
  const ForestView& a = forest.arrays();
  std::vector<double> expected(forest.nodes(), 0);  // of the gain of a node's derivations
  const auto through = [&](uint32_t e) { return combine(a, gains, expected.data(), e); };
  upwards(forest, [&](uint32_t n, uint32_t begin, uint32_t end) {
    for (uint32_t e = begin; e < end; ++e) {
      if (p.conditional[e] > 0) expected[n] += p.conditional[e] * through(e);
    }
  });
  Expectation result;
  result.edges.assign(forest.edges(), 0);
  for (size_t i = 0; i < roots.size(); ++i) result.value += p.root[i] * expected[roots[i]];
  // Derivatives of the value with respect to the inside score of each node, from the roots down.
  std::vector<double> slope(forest.nodes(), 0);
  for (size_t i = 0; i < roots.size(); ++i) {
    slope[roots[i]] = p.root[i] * (expected[roots[i]] - result.value);
  }
  for (uint32_t e = forest.edges(); e-- > 0;) {
    const uint32_t n = a.heads[e];
    if (p.conditional[e] == 0) continue;
    const double d = p.conditional[e] * (p.nodes[n] * (through(e) - expected[n]) + slope[n]);
    result.edges[e] = d;
    for (uint32_t i = a.tail_begin[e]; i < a.tail_begin[e + 1]; ++i) slope[a.tails[i]] += d;
  }
  return result;
}

}  // namespace hopefear
