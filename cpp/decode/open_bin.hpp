// A bin while search fills it: nodes by their signature for recombination, edges in order of
// insertion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/probing_table.hpp"
#include "decode/phrase_search.hpp"

namespace hopefear::decode {

// The signature that recombination compares. `begin` is -1 if no feature depends on where the last
// phrase began. The caller owns the bytes of the state.
struct NodeKey {
  uint32_t coverage, forward;
  int32_t begin, end;
  const std::byte* state;
};

class OpenBin {
 public:
  // `state_size`: bytes per state; `width`: values per edge.
  OpenBin(size_t state_size, size_t width) : state_size_(state_size), width_(width) {}

  // Adds an edge, and the node with this key if it is new. `begin` and `values` as in SearchNode
  // and SearchBin. O(1).
  void add(const NodeKey& key, int32_t begin, double score, double total, const SearchEdge& edge,
           const float* values);
  size_t size() const { return nodes_.size(); }

  // Drops all but the `beam` best nodes and keeps the order of insertion. For search that would
  // otherwise hold all nodes of a bin until it is closed; a node that is dropped and made again has
  // lost its old edges.
  void shrink(uint32_t beam);

  // Returns the surviving nodes, best first (ties: the older one), with their edges; the bin is
  // empty afterwards.
  SearchBin close(const SearchLimits& limits);

 private:
  struct Made {
    SearchNode node;
    uint64_t hash;
    int32_t begin;  // as in NodeKey
  };
  struct MadeEdge {
    SearchEdge edge;
    uint32_t head;
  };
  uint64_t hash_of(const NodeKey& key) const;
  bool same(uint32_t index, uint64_t hash, const NodeKey& key) const;
  std::vector<uint32_t> best(uint32_t beam) const;

  const size_t state_size_, width_;
  std::vector<Made> nodes_;
  std::vector<std::byte> states_;
  std::vector<MadeEdge> edges_;
  std::vector<float> values_;
  NumberTable numbers_;
};

}  // namespace hopefear::decode
