#include "forest/forest.hpp"

#include <stdexcept>

#include <algorithm>
#include <cmath>

namespace hopefear {
namespace {

bool is_csr(std::span<const uint32_t> begin, size_t count, size_t size) {
  return begin.size() == count + 1 && begin.front() == 0 && begin.back() == size &&
         std::is_sorted(begin.begin(), begin.end());
}

bool all_below(std::span<const uint32_t> values, size_t bound) {
  return std::all_of(values.begin(), values.end(), [&](uint32_t v) { return v < bound; });
}

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

}  // namespace

ForestView view_of(const ForestStorage& s) {
  return {s.node_edges, s.covered,      s.spans,      s.symbols,      s.coverage_begin,
          s.coverage,   s.heads,        s.tail_begin, s.tails,        s.target_begin,
          s.target,     s.rows,         s.rules,      s.edge_columns, s.edge_dense,
          s.own_begin,  s.own_features, s.own_values, s.row_columns,  s.row_dense,
          s.row_begin,  s.row_features, s.row_values, s.feature_ids};
}

std::string fault_of(const ForestView& a, int64_t goal, int64_t words) {
  const size_t nodes = a.covered.size(), edges = a.heads.size(), features = a.feature_ids.size();
  if (nodes >= kNoRow || edges >= kNoRow) return "too many nodes or edges";
  if (goal < -1 || goal >= static_cast<int64_t>(nodes)) return "the goal is not a node";
  if (!is_csr(a.node_edges, nodes, edges)) return "edges of nodes";
  if (a.spans.size() != 2 * nodes || a.symbols.size() != nodes) return "labels of nodes";
  if (!is_csr(a.coverage_begin, nodes, a.coverage.size())) return "coverage of nodes";
  for (const int32_t symbol : a.symbols) {
    if (symbol < -1 || symbol >= words) return "the symbol of a node is no word";
  }
  if (!is_csr(a.tail_begin, edges, a.tails.size())) return "tails of edges";
  if (!is_csr(a.target_begin, edges, a.target.size())) return "target sides of edges";
  if (a.rows.size() != edges || a.rules.size() != edges) return "rows of edges";
  if (a.row_begin.empty()) return "rows";
  const size_t rows = a.row_begin.size() - 1;
  std::vector<uint32_t> used;
  for (uint32_t node = 0; node < nodes; ++node) {
    for (uint32_t e = a.node_edges[node]; e < a.node_edges[node + 1]; ++e) {
      if (a.heads[e] != node) return "head of edge " + std::to_string(e);
      const uint32_t arity = a.tail_begin[e + 1] - a.tail_begin[e];
      if (!all_below(a.tails.subspan(a.tail_begin[e], arity), node)) {
        return "edge " + std::to_string(e) + " has a tail that is not before its head";
      }
      used.assign(arity, 0);
      for (uint32_t i = a.target_begin[e]; i < a.target_begin[e + 1]; ++i) {
        const int64_t symbol = a.target[i];
        if (symbol >= words || symbol < -int64_t{arity} || (symbol < 0 && used[-1 - symbol]++)) {
          return "target side of edge " + std::to_string(e);
        }
      }
      if (std::find(used.begin(), used.end(), 0u) != used.end()) {
        return "edge " + std::to_string(e) + " has a tail without slot";
      }
      if (a.rows[e] != kNoRow && a.rows[e] >= rows) return "row of edge " + std::to_string(e);
    }
  }
  if (!is_csr(a.own_begin, edges, a.own_features.size()) ||
      a.own_values.size() != a.own_features.size() ||
      a.edge_dense.size() != edges * a.edge_columns.size()) {
    return "own features of edges";
  }
  if (!is_csr(a.row_begin, rows, a.row_features.size()) ||
      a.row_values.size() != a.row_features.size() ||
      a.row_dense.size() != rows * a.row_columns.size()) {
    return "features of rows";
  }
  if (!all_below(a.own_features, features) || !all_below(a.edge_columns, features) ||
      !all_below(a.row_features, features) || !all_below(a.row_columns, features)) {
    return "feature numbers";
  }
  if (!all_finite(a.own_values) || !all_finite(a.edge_dense) || !all_finite(a.row_values) ||
      !all_finite(a.row_dense)) {
    return "a feature value is not finite";
  }
  if (std::find(a.feature_ids.begin(), a.feature_ids.end(), 0u) != a.feature_ids.end()) {
    return "0 is no feature id";
  }
  return {};
}

Forest::Forest() {
  static const uint32_t zero[1] = {0};
  ForestView arrays;
  arrays.node_edges = arrays.coverage_begin = arrays.tail_begin = arrays.target_begin = zero;
  arrays.own_begin = arrays.row_begin = zero;
  *this = Forest(arrays, nullptr, -1, "", std::make_shared<Vocabulary>(), nullptr);
}

Forest::Forest(const ForestView& arrays, std::shared_ptr<const void> owner, int64_t goal,
               std::string id, std::shared_ptr<Vocabulary> vocabulary,
               std::shared_ptr<FeatureNames> names)
    : data_(std::make_shared<const Data>(Data{arrays, std::move(owner), goal, std::move(id),
                                              std::move(vocabulary), std::move(names)})) {}

Forest Forest::with_goal(int64_t goal) const {
  if (goal < -1 || goal >= nodes()) throw std::invalid_argument("the goal is not a node");
  return Forest(data_->arrays, data_->owner, goal, data_->id, data_->vocabulary, data_->names);
}

std::optional<uint32_t> Forest::goal() const {
  if (data_->goal < 0) return std::nullopt;
  return static_cast<uint32_t>(data_->goal);
}

size_t Forest::bytes() const {
  size_t total = 0;
  visit_arrays(arrays(), [&](const auto& array) { total += array.size_bytes(); });
  return total;
}

}  // namespace hopefear
