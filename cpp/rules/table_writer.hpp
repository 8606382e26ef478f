// Writes a rule table from a stream of rules. Memory: the edges of the nodes on the current path
// (at most the number of different first words) and a few buffers; everything else is in scratch
// files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/scratch_stream.hpp"
#include "rules/rule.hpp"
#include "rules/rule_table.hpp"

namespace hopefear::rules {

class TableWriter : public RuleSink {
 public:
  TableWriter(Columns columns, const std::string& scratch_directory);

  // Adds a rule. Rules of the same source side must be contiguous, best first, and so must source
  // sides with a common prefix, as in any sorted order. At most 255 symbols on each side.
  void add(const RuleView& rule) override;

  // The names of the numbers in rules: words in the order of `word_less`, labels, and names of
  // sparse scores in the same order.
  struct Names {
    std::span<const std::string_view> source_words, target_words, labels = {}, sparse = {};
  };
  void finish(const std::string& path, const Names& names, std::string_view info);  // a new file
  RuleTable finish_in_memory(std::string name, const Names& names, std::string_view info);
  uint64_t rules() const { return rules_; }
  const TableLayout& layout() const { return layout_; }

 private:
  struct Edge {
    Symbol symbol;
    RuleTable::Node node;
  };
  struct Open {  // a node whose subtree is still growing
    Symbol symbol = 0;
    uint32_t first_rule = 0, rule_count = 0;
    std::vector<Edge> edges;
  };
  void close_last();
  void add_sparse(std::span<const SparseScore> scores);
  void add_fragment(std::span<const uint16_t> fragment);
  void write(BinaryWriter& writer, const Names& names, std::string_view info);
  template <typename T>
  static void put(ScratchStream& stream, std::span<const T> values) {
    stream.write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  static void copy(BinaryWriter& writer, const char* section, ScratchStream& stream);

  Columns columns_;
  TableLayout layout_ = {};
  std::vector<Open> path_;  // the root, then one node for each symbol of the current source side
  ScratchStream nodes_, edge_symbols_, edge_nodes_, entries_, counts_, scores_, bodies_, sparse_at_,
      sparse_, fragment_at_, fragments_;
  uint64_t node_count_ = 0, edge_count_ = 0, rules_ = 0;
  uint64_t body_ = 0;
};

}  // namespace hopefear::rules
