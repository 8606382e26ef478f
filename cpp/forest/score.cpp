#include "forest/score.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/error.hpp"

namespace hopefear {
namespace {

// Four independent sums, since a single one would wait for its previous addition. The loop is the
// whole cost of scoring dense features (about 8 ns for 15 of them, half of it fetching the values).
double dense_dot(const float* values, const double* weights, size_t n) {
  double a = 0, b = 0, c = 0, d = 0;
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    a += values[i] * weights[i];
    b += values[i + 1] * weights[i + 1];
    c += values[i + 2] * weights[i + 2];
    d += values[i + 3] * weights[i + 3];
  }
  for (; i < n; ++i) a += values[i] * weights[i];
  return (a + b) + (c + d);
}

double sparse_dot(const uint32_t* features, const float* values, size_t n, const double* weights) {
  double a = 0, b = 0;
  size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    a += values[i] * weights[features[i]];
    b += values[i + 1] * weights[features[i + 1]];
  }
  if (i < n) a += values[i] * weights[features[i]];
  return a + b;
}

std::vector<double> take(std::span<const uint32_t> columns, std::span<const double> weights) {
  std::vector<double> taken;
  for (const uint32_t column : columns) taken.push_back(weights[column]);
  return taken;
}

// Describes the first edge whose score is NaN or infinite; empty if there is none.
std::string bad_score(Scores scores) {
  bool good = true;
  for (const double s : scores) good &= s < std::numeric_limits<double>::infinity();
  if (good) return {};
  size_t e = 0;
  while (scores[e] < std::numeric_limits<double>::infinity()) ++e;
  return "edge " + std::to_string(e) + " has score " + std::to_string(scores[e]) +
         ", expected a number or -infinity";
}

}  // namespace

std::vector<double> edge_scores(const Forest& forest, const Weights& table) {
  std::vector<double> weights;
  weights.reserve(forest.features());
  for (const FeatureId id : forest.arrays().feature_ids) weights.push_back(table.get(id));
  return edge_scores(forest, weights);
}

std::vector<double> edge_scores(const Forest& forest, std::span<const double> weights) {
  const ForestView& a = forest.arrays();
  if (weights.size() != forest.features())
    throw std::invalid_argument("expected one weight per feature");
  const size_t rows = forest.rows(), row_columns = a.row_columns.size();
  const std::vector<double> row_weights = take(a.row_columns, weights);
  std::vector<double> row_scores(rows);
  for (size_t r = 0; r < rows; ++r) {
    const uint32_t begin = a.row_begin[r], end = a.row_begin[r + 1];
    double score = dense_dot(a.row_dense.data() + r * row_columns, row_weights.data(), row_columns);
    if (begin < end) {
      score += sparse_dot(a.row_features.data() + begin, a.row_values.data() + begin, end - begin,
                          weights.data());
    }
    row_scores[r] = score;
  }

  const size_t edges = forest.edges(), columns = a.edge_columns.size();
  const std::vector<double> edge_weights = take(a.edge_columns, weights);
  std::vector<double> scores(edges);
  for (size_t e = 0; e < edges; ++e) {
    const uint32_t begin = a.own_begin[e], end = a.own_begin[e + 1];
    double score = a.rows[e] == kNoRow ? 0 : row_scores[a.rows[e]];
    if (columns > 0) {
      score += dense_dot(a.edge_dense.data() + e * columns, edge_weights.data(), columns);
    }
    if (begin < end) {
      score += sparse_dot(a.own_features.data() + begin, a.own_values.data() + begin, end - begin,
                          weights.data());
    }
    scores[e] = score;
  }
  if (const std::string bad = bad_score(scores); !bad.empty()) {
    throw InputError(bad + "; a weight, or a file that its features come from, is damaged");
  }
  return scores;
}

void check_scores(const Forest& forest, Scores scores) {
  if (scores.size() != forest.edges()) {
    throw std::invalid_argument(std::to_string(scores.size()) + " scores for a forest of " +
                                std::to_string(forest.edges()) + " edges");
  }
  if (const std::string bad = bad_score(scores); !bad.empty()) throw std::invalid_argument(bad);
}

std::vector<double> feature_sums(const Forest& forest, std::span<const double> factors) {
  const ForestView& a = forest.arrays();
  std::vector<double> rows(forest.rows(), 0), sums(forest.features(), 0);
  for (uint32_t e = 0; e < forest.edges(); ++e) {
    if (factors[e] == 0) continue;
    if (a.rows[e] != kNoRow) rows[a.rows[e]] += factors[e];
    for_own_features(a, e, [&](uint32_t f, float value) { sums[f] += factors[e] * value; });
  }
  for (uint32_t r = 0; r < rows.size(); ++r) {
    if (rows[r] == 0) continue;
    for_row_features(a, r, [&](uint32_t f, float value) { sums[f] += rows[r] * value; });
  }
  return sums;
}

SparseVector feature_sum(const Forest& forest, std::span<const double> factors) {
  const std::vector<double> sums = feature_sums(forest, factors);
  std::vector<FeatureId> ids;
  std::vector<float> values;
  for (uint32_t f = 0; f < sums.size(); ++f) {
    if (sums[f] == 0) continue;
    ids.push_back(forest.arrays().feature_ids[f]);
    values.push_back(static_cast<float>(sums[f]));
  }
  return SparseVector(ids, values);
}

}  // namespace hopefear
