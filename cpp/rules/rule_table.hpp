// Rules indexed by their source side, in one memory-mapped file of kind "rules".
//
// A trie over source sides: each node has edges (symbols ascending, words before nonterminals) and
// the rules whose source side ends there, best first. Nodes are numbered from the leaves up
// (children before their parent, the root last), so that no damage can make a walk go in circles.
//
//   columns     names of the score columns, one per line
//   layout      TableLayout
//   source.* target.* label.*     words in their order (vocabulary.hpp)
//   nodes       TrieNode: where its edges and its rules are
//   edge.symbol edge.node         the edges of all nodes
//   rules       RuleEntry         counts   Counts        scores   a row of floats for each rule
//   bodies      target symbols and links, for each rule
//   info        how the table was made (JSON)
//   sparse.places sparse.score sparse.*     only if some rule has scores that are not columns:
//               begin of each rule's scores, the scores (SparseScore), their names in order
//   fragment.places fragments              only if some rule has a piece of tree: begin of each
//               rule's tokens, the tokens (rule.hpp)
//
// Reading is bounds-checked everywhere: a damaged file gives an InputError, never an access outside
// of the file. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/binary_file.hpp"
#include "rules/rule.hpp"

namespace hopefear::rules {

inline constexpr BinaryKind kRulesKind = {"rules", 1, "re-create it with 'hopefear extract'"};

inline constexpr uint32_t kMostReorderingColumns = 8;  // four orientations, two directions

struct TableLayout {
  uint32_t columns, reordering;
  uint32_t longest_source, longest_target;  // symbols
  uint64_t source_sides;                    // nodes with rules
  uint64_t one_sentence;                    // rules extracted from a single sentence
};

struct TrieNode {
  uint32_t edges, edge_count;
  uint32_t rules, rule_count;
};

struct RuleEntry {
  uint64_t body;  // offset in `bodies`, in units of two bytes
  uint32_t sentence;
  uint16_t label;
  uint8_t source_size, target_size;
  uint16_t links;
  uint8_t arity;
  uint8_t reserved[5];
};
static_assert(sizeof(TableLayout) == 32 && sizeof(TrieNode) == 16 && sizeof(RuleEntry) == 24);

class RuleTable {
 public:
  using Node = uint32_t;
  static constexpr Node kNoNode = 0xffffffff;
  struct Edges {
    std::span<const Symbol> symbols;  // ascending
    std::span<const Node> nodes;
  };
  struct Range {
    uint32_t begin, end;  // numbers of rules
    uint32_t size() const { return end - begin; }
  };

  static RuleTable open(const std::string& path);
  // Takes the bytes of TableWriter::finish_in_memory. `name` is for messages.
  static RuleTable from_memory(std::vector<char> bytes, std::string name);

  // The trie. A dotted item is a node: start at root() and follow child() for each symbol.
  Node root() const { return static_cast<Node>(nodes_.size() - 1); }
  Node child(Node node, Symbol symbol) const;  // kNoNode if there is none; O(log edges)
  Edges edges(Node node) const;
  Range rules(Node node) const;

  // A rule by its number; its `source` is empty. Checked in full, so that a caller may use its
  // words, links and nonterminals as indices, provided that `source_size` is the depth of the node
  // that led to it and `arity` the number of nonterminals on the way.
  RuleView rule(uint32_t number) const;
  // Only the target side, with only its bounds checked: to search many rules for few, at half the
  // cost.
  std::span<const Symbol> target(uint32_t number) const;
  std::span<const float> scores(uint32_t number) const;
  // Scores that are not columns, with names in sparse_names(). Empty in extracted tables.
  std::span<const SparseScore> sparse(uint32_t number) const;

  // Every rule with its source side, in the order of a sorted Moses table. `visit` gets the
  // number of the rule and a view.
  template <typename F>
  void walk(F&& visit) const {
    std::vector<Symbol> source;
    walk_node(root(), source_words_end(), source, visit);
  }

  // The piece of tree that a rule's target side is; empty if it has none. Checked like a rule: as
  // many leaves as `target` symbols, labels in range, nodes closed in order.
  std::span<const uint16_t> fragment(uint32_t number) const;

  uint32_t size() const { return static_cast<uint32_t>(entries_.size()); }
  size_t node_count() const { return nodes_.size(); }
  const Columns& columns() const { return columns_; }
  std::optional<size_t> column(std::string_view name) const;
  const WordList& source_words() const { return source_words_; }
  const WordList& target_words() const { return target_words_; }
  const WordList& labels() const { return labels_; }
  const WordList& sparse_names() const { return sparse_names_; }
  const TableLayout& layout() const { return layout_; }
  std::string_view info() const;
  const BinaryFile& file() const { return file_; }

 private:
  explicit RuleTable(BinaryFile file);
  // The symbol before which a node's own rules stand in a text table: the place of "|||".
  Symbol source_words_end() const;
  template <typename F>
  void walk_node(Node node, Symbol own_before, std::vector<Symbol>& source, F&& visit) const {
    const Edges out = edges(node);
    size_t i = 0;
    const auto descend = [&] {
      if (source.size() >= layout_.longest_source) throw file_.damaged("a source side is too long");
      if (out.nodes[i] >= node) throw file_.damaged("an edge leads upwards");
      source.push_back(out.symbols[i]);
      walk_node(out.nodes[i], own_before, source, visit);
      source.pop_back();
    };
    for (; i < out.symbols.size() && out.symbols[i] < own_before; ++i) descend();
    const Range own = rules(node);
    for (uint32_t number = own.begin; number < own.end; ++number) {
      RuleView view = rule(number);
      if (view.source_size != source.size()) throw file_.damaged("a rule is at a wrong node");
      view.source = source;
      visit(number, view);
    }
    for (; i < out.symbols.size(); ++i) descend();
  }
  BinaryFile file_;
  Columns columns_;
  TableLayout layout_;
  WordList source_words_, target_words_, labels_, sparse_names_;
  std::span<const TrieNode> nodes_;
  std::span<const Symbol> edge_symbols_;
  std::span<const Node> edge_nodes_;
  std::span<const RuleEntry> entries_;
  std::span<const Counts> counts_;
  std::span<const float> scores_;
  std::span<const uint16_t> bodies_;
  std::span<const uint64_t> sparse_at_;  // empty, or one more than rules
  std::span<const SparseScore> sparse_;
  std::span<const uint64_t> fragment_at_;  // likewise
  std::span<const uint16_t> fragments_;
};

}  // namespace hopefear::rules
