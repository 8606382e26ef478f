// A trie of the prefixes of reference translations, the targets of forced decoding.
//
// A node is a prefix of at least one reference, the root the empty one. Nodes are numbered in
// pre-order, so the descendants of a node are a range of numbers; with one reference a node is the
// number of words. Equal prefixes of several references are one node, so a derivation is found
// once, however many references share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hopefear::decode {

class ReferenceTrie {
 public:
  using Node = uint32_t;
  static constexpr Node kRoot = 0, kNoNode = 0xffffffff;

  // Words: any numbers >= 0. O(words, times the logarithm of the number of references).
  explicit ReferenceTrie(std::vector<std::vector<int32_t>> references);

  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  int32_t word(Node node) const {
    return nodes_[node].word;
  }  // the last word of the prefix; -1 for the root
  Node parent(Node node) const { return nodes_[node].parent; }
  uint32_t depth(Node node) const { return nodes_[node].depth; }
  Node end(Node node) const { return nodes_[node].end; }            // one past its last descendant
  bool complete(Node node) const { return nodes_[node].complete; }  // a whole reference

  // The node that words lead to, kNoNode if none. O(words) with one reference. Word is int32_t or
  // the symbol type of a rule table.
  template <typename Word>
  Node walk(Node from, std::span<const Word> words) const {
    for (const Word word : words) {
      const Node end = nodes_[from].end;
      Node child = from + 1;
      while (child < end && nodes_[child].word != static_cast<int32_t>(word)) {
        child = nodes_[child].end;
      }
      if (child >= end) return kNoNode;
      from = child;
    }
    return from;
  }
  // Whether the words occur contiguously in a reference.
  template <typename Word>
  bool contains(std::span<const Word> words) const {
    // Most phrases fail here: a frequent source word has thousands of translations.
    for (const Word word : words) {
      const size_t place = static_cast<size_t>(word) / 64;
      if (place >= words_.size() || (words_[place] >> (word % 64) & 1) == 0) return false;
    }
    for (Node from = kRoot; from < size(); ++from) {
      if (walk(from, words) != kNoNode) return true;
    }
    return false;
  }

 private:
  struct NodeInfo {
    int32_t word;
    Node parent, end;
    uint32_t depth;
    bool complete;
  };
  std::vector<NodeInfo> nodes_;
  std::vector<uint64_t> words_;  // a bit for each word that occurs
};

}  // namespace hopefear::decode
