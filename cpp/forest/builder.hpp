// Builds a forest. Nodes, rows and edges are added in any order; finish() sorts them:
//   - nodes topologically (if they are in topological order already, their numbers do not change);
//   - edges by head; edges of the same head keep the order of adding, which is the order in which
//     inference breaks ties.
// finish() also makes dense columns of the features that at least half of all rows (or edges) have:
// there a column is smaller than the entries that it replaces.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/id_numbers.hpp"
#include "forest/forest.hpp"

namespace hopefear {

struct FeatureEntry {
  uint32_t feature;  // local number
  float value;
  bool operator==(const FeatureEntry&) const = default;
};

// Sorts stably by feature.
void sort_by_feature(std::vector<FeatureEntry>& entries);

struct NodeLabel {
  uint32_t covered = 0;
  int32_t begin = -1, end = -1;
  int32_t symbol = -1;
  std::span<const uint64_t> coverage = {};
};

class ForestBuilder {
 public:
  // `names` may be null. Both may be shared with other forests.
  ForestBuilder(std::shared_ptr<Vocabulary> vocabulary, std::shared_ptr<FeatureNames> names);

  uint32_t feature(FeatureId id);  // returns its local number

  // Adds a row and returns its number. Entries may be in any order; equal features are summed.
  // std::invalid_argument for a value that is not finite.
  uint32_t add_row(std::span<const FeatureEntry> entries);
  uint32_t share_row(std::span<const FeatureEntry> entries);  // reuses an equal row, if any
  uint32_t add_node(const NodeLabel& label = {});
  // Returns the edge's number in order of adding. Head and tails must exist at finish(), not
  // earlier. std::invalid_argument unless the target has each slot exactly once.
  uint32_t add_edge(uint32_t head, std::span<const uint32_t> tails, std::span<const int32_t> target,
                    uint32_t row = kNoRow, std::span<const FeatureEntry> own = {},
                    int64_t rule = kNoRule);
  uint32_t nodes() const { return static_cast<uint32_t>(storage_.covered.size()); }
  uint32_t edges() const { return static_cast<uint32_t>(storage_.heads.size()); }

  // Returns the forest and empties the builder. std::invalid_argument for a cycle, or for an edge
  // with a node or row that does not exist.
  Forest finish(std::optional<uint32_t> goal, std::string id = "");
  // After finish(): for each edge of the forest its number in order of adding, and for each added
  // node its number in the forest.
  const std::vector<uint32_t>& edge_order() const { return edge_order_; }
  const std::vector<uint32_t>& node_numbers() const { return node_numbers_; }

 private:
  void append(std::span<const FeatureEntry> entries, std::vector<uint32_t>& begin,
              std::vector<uint32_t>& features, std::vector<float>& values);
  void sort_nodes();
  void sort_edges(ForestStorage& out) const;
  void move_labels(ForestStorage& out) const;

  std::shared_ptr<Vocabulary> vocabulary_;
  std::shared_ptr<FeatureNames> names_;
  IdNumbers feature_numbers_;
  struct SharedRow {
    uint64_t entries_hash = 0;
    uint32_t row = kNoRow;
    bool empty() const { return row == kNoRow; }
    uint64_t hash() const { return entries_hash; }
  };
  ProbingTable<SharedRow> shared_rows_;
  std::vector<FeatureEntry> scratch_;
  ForestStorage storage_;  // in order of adding; no dense columns, no node_edges
  std::vector<uint32_t> edge_order_, node_numbers_;
};

// Moves the features that at least half of the lists have (begin, features, values in CSR form) to
// the columns of a dense matrix.
void make_dense(std::vector<uint32_t>& begin, std::vector<uint32_t>& features,
                std::vector<float>& values, size_t feature_count, std::vector<uint32_t>& columns,
                std::vector<float>& dense);

}  // namespace hopefear
