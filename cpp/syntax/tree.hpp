// A phrase-structure tree as flat arrays.
//
// Nodes are in pre-order, so a subtree is a range of nodes and of words. Every word has a
// preterminal of its own: a node without children nodes covers one word, all other nodes have
// children only. A tree without nodes stands for "no tree" (a line `()`).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/word_numbers.hpp"

namespace hopefear::syntax {

inline constexpr uint32_t kNoParent = 0xffffffff;
inline constexpr std::string_view kTop = "TOP";  // label of the outer empty bracket

struct TreeNode {
  uint32_t label;
  uint32_t parent;      // kNoParent for the root, which is node 0
  uint32_t next;        // the first node after the subtree
  uint32_t begin, end;  // words
};

struct Tree {
  std::vector<TreeNode> nodes;
  std::vector<uint32_t> words;

  void clear() {
    nodes.clear();
    words.clear();
  }
  bool empty() const { return nodes.empty(); }
  bool preterminal(uint32_t node) const { return nodes[node].next == node + 1; }
  // Calls f(child) for the children of a node, from left to right.
  template <typename F>
  void children(uint32_t node, F&& f) const {
    for (uint32_t child = node + 1; child < nodes[node].next; child = nodes[child].next) f(child);
  }
};

// Removes what treebanks have and parsers do not: function tags and indices (NP-SBJ-1, NP=2: NP),
// traces and empty nodes (-NONE-), and a node above a single child with the same label. An
// annotation of a label that begins with "-" (-LRB-) is the label itself. The result may be empty.
Tree normalised(const Tree& tree, WordNumbers& labels);

enum class Binarisation { none, left, right, head };
// Splits nodes with more than two children; new nodes have the label @X below X. With `left` the
// new nodes cover the first children, with `right` the last ones, with `head` they grow around the
// head child, first to the right.
Tree binarised(const Tree& tree, Binarisation direction, WordNumbers& labels);
// Undoes `binarised`: removes all nodes whose label begins with "@", except for the root.
Tree unbinarised(const Tree& tree, const WordNumbers& labels);

// The head among children labels, by rules for English treebanks; the last child where no rule
// applies. `labels` are names without function tags. [collins1999]
size_t head_child(std::string_view parent, const std::vector<std::string_view>& children);

}  // namespace hopefear::syntax
