// A forest: the search space that a decoder kept for one sentence, as a hypergraph of flat arrays.
//
// Nodes are in topological order (the tails of an edge have smaller numbers than its head), and the
// incoming edges of a node are contiguous. A derivation of a node is one of its incoming edges and
// a derivation for each tail; a node without incoming edges has none. A node may occur more than
// once among the tails of an edge. Nodes that no derivation of the goal uses may be present.
//
// An edge's target side is a sequence of words (>= 0, numbers of the vocabulary) and slots (-1-k is
// the string of tail k); every tail has exactly one slot. Its features are those of the *row* it
// refers to, which all uses of a rule at a span share, plus its own. Features that most rows (or
// edges) have are columns of a dense matrix, the others are (feature, value) lists. Features have
// local numbers; feature_ids maps them to the global 64-bit ids.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/sparse_vector.hpp"
#include "base/vocabulary.hpp"
#include "base/weights.hpp"

namespace hopefear {

inline constexpr uint32_t kNoRow = 0xffffffff;
inline constexpr int64_t kNoRule = -1;

// Container is std::vector (owned) or std::span (a view of owned arrays or of a mapped file).
// N nodes, E edges, R rows, F features; "begin" arrays are offsets into the array that follows.
template <template <typename> typename Container>
struct ForestArrays {
  Container<uint32_t> node_edges;      // N + 1: node n has the edges [n] .. [n + 1]
  Container<uint32_t> covered;         // N: number of source words covered
  Container<int32_t> spans;            // 2 N: begin and end in the source, -1 -1 for none
  Container<int32_t> symbols;          // N: label, a word of the vocabulary, -1 for none
  Container<uint32_t> coverage_begin;  // N + 1
  Container<uint64_t> coverage;        // bits of covered source positions, lowest first
  Container<uint32_t> heads;           // E
  Container<uint32_t> tail_begin;      // E + 1
  Container<uint32_t> tails;
  Container<uint32_t> target_begin;  // E + 1
  Container<int32_t> target;
  Container<uint32_t> rows;          // E: kNoRow for none
  Container<int64_t> rules;          // E: the decoder's rule number, kNoRule for none
  Container<uint32_t> edge_columns;  // features of the columns of edge_dense
  Container<float> edge_dense;       // E x columns
  Container<uint32_t> own_begin;     // E + 1
  Container<uint32_t> own_features;
  Container<float> own_values;
  Container<uint32_t> row_columns;  // features of the columns of row_dense
  Container<float> row_dense;       // R x columns
  Container<uint32_t> row_begin;    // R + 1
  Container<uint32_t> row_features;
  Container<float> row_values;
  Container<uint64_t> feature_ids;  // F
};

template <typename T>
using ReadSpan = std::span<const T>;
template <typename T>
using OwnedArray = std::vector<T>;
using ForestView = ForestArrays<ReadSpan>;
using ForestStorage = ForestArrays<OwnedArray>;
inline constexpr size_t kForestArrays = 24;

// Calls f(array) for every array, in the order of pool files.
template <typename Arrays, typename F>
void visit_arrays(Arrays& a, F&& f) {
  f(a.node_edges), f(a.covered), f(a.spans), f(a.symbols), f(a.coverage_begin), f(a.coverage);
  f(a.heads), f(a.tail_begin), f(a.tails), f(a.target_begin), f(a.target), f(a.rows), f(a.rules);
  f(a.edge_columns), f(a.edge_dense), f(a.own_begin), f(a.own_features), f(a.own_values);
  f(a.row_columns), f(a.row_dense), f(a.row_begin), f(a.row_features), f(a.row_values);
  f(a.feature_ids);
}

ForestView view_of(const ForestStorage& storage);

// Describes what is wrong with the arrays; empty if they are valid, which guarantees that no
// function reads out of bounds. `words` is the size of the vocabulary. O(size).
std::string fault_of(const ForestView& arrays, int64_t goal, int64_t words);

// A handle: copies share the arrays, which never change.
class Forest {
 public:
  Forest();  // no nodes
  // The arrays must be valid (see fault_of); `owner` keeps them alive.
  Forest(const ForestView& arrays, std::shared_ptr<const void> owner, int64_t goal, std::string id,
         std::shared_ptr<Vocabulary> vocabulary, std::shared_ptr<FeatureNames> names);

  const ForestView& arrays() const { return data_->arrays; }
  uint32_t nodes() const { return static_cast<uint32_t>(arrays().covered.size()); }
  uint32_t edges() const { return static_cast<uint32_t>(arrays().heads.size()); }
  uint32_t rows() const { return static_cast<uint32_t>(arrays().row_begin.size() - 1); }
  uint32_t features() const { return static_cast<uint32_t>(arrays().feature_ids.size()); }
  std::optional<uint32_t> goal() const;
  const std::string& id() const { return data_->id; }  // of the sentence
  const std::shared_ptr<Vocabulary>& vocabulary() const { return data_->vocabulary; }
  const std::shared_ptr<FeatureNames>& names() const { return data_->names; }  // may be null
  size_t bytes() const;                                                        // of the arrays
  // A forest that shares the arrays but has another goal, -1 for none.
  Forest with_goal(int64_t goal) const;

  // Parts of an edge or node.
  std::pair<uint32_t, uint32_t> in_edges(uint32_t node) const {
    return {arrays().node_edges[node], arrays().node_edges[node + 1]};
  }
  std::span<const uint32_t> tails(uint32_t edge) const {
    const ForestView& a = arrays();
    return a.tails.subspan(a.tail_begin[edge], a.tail_begin[edge + 1] - a.tail_begin[edge]);
  }
  std::span<const int32_t> target(uint32_t edge) const {
    const ForestView& a = arrays();
    return a.target.subspan(a.target_begin[edge], a.target_begin[edge + 1] - a.target_begin[edge]);
  }
  std::span<const uint64_t> coverage(uint32_t node) const {
    const ForestView& a = arrays();
    return a.coverage.subspan(a.coverage_begin[node],
                              a.coverage_begin[node + 1] - a.coverage_begin[node]);
  }

 private:
  struct Data {
    ForestView arrays;
    std::shared_ptr<const void> owner;
    int64_t goal;  // -1 for none
    std::string id;
    std::shared_ptr<Vocabulary> vocabulary;
    std::shared_ptr<FeatureNames> names;
  };
  std::shared_ptr<const Data> data_;
};

// Calls f(local feature, value) for every non-zero feature of a row, or of an edge apart from its
// row.
template <typename F>
void for_row_features(const ForestView& a, uint32_t row, F&& f) {
  const size_t columns = a.row_columns.size();
  for (size_t c = 0; c < columns; ++c) {
    const float value = a.row_dense[row * columns + c];
    if (value != 0) f(a.row_columns[c], value);
  }
  for (uint32_t i = a.row_begin[row]; i < a.row_begin[row + 1]; ++i) {
    if (a.row_values[i] != 0) f(a.row_features[i], a.row_values[i]);
  }
}
template <typename F>
void for_own_features(const ForestView& a, uint32_t edge, F&& f) {
  const size_t columns = a.edge_columns.size();
  for (size_t c = 0; c < columns; ++c) {
    const float value = a.edge_dense[edge * columns + c];
    if (value != 0) f(a.edge_columns[c], value);
  }
  for (uint32_t i = a.own_begin[edge]; i < a.own_begin[edge + 1]; ++i) {
    if (a.own_values[i] != 0) f(a.own_features[i], a.own_values[i]);
  }
}

}  // namespace hopefear
