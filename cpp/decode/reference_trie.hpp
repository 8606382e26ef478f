// Reference translations as a tree of their prefixes: what forced decoding must produce.
//
// A node is a prefix of at least one reference, the root the empty one. Nodes are numbered in
// pre-order, so what can still follow a node is a range of numbers; of one reference the node is
// the number of words. Equal prefixes of several references are one node, so that a derivation is
// found once, whichever references it is on the way to.
#pragma once

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
  int32_t word(Node node) const { return nodes_[node].word; }  // its last one; -1: the root's
  Node parent(Node node) const { return nodes_[node].parent; }
  uint32_t depth(Node node) const { return nodes_[node].depth; }
  Node end(Node node) const { return nodes_[node].end; }            // what follows: up to there
  bool complete(Node node) const { return nodes_[node].complete; }  // a whole reference

  // Where words lead from a node; kNoNode. O(words) with one reference.
  Node walk(Node from, std::span<const int32_t> words) const;
  // Whether the words stand anywhere in a reference.
  bool contains(std::span<const int32_t> words) const;

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
