// A bin while search fills it: nodes found by what recombination compares, edges as they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/probing_table.hpp"
#include "decode/phrase_search.hpp"

namespace hopefear::decode {

// All that recombination compares. `begin` is -1 where nothing depends on where the last phrase
// began. The state's bytes belong to the caller.
struct NodeKey {
  uint32_t coverage, forward;
  int32_t begin, end;
  const std::byte* state;
};

class OpenBin {
 public:
  // Bytes of a state, values of an edge.
  OpenBin(size_t state_size, size_t width) : state_size_(state_size), width_(width) {}

  // One more edge; the node of that key is made if it is new. `begin`, `values` as in SearchNode
  // and SearchBin. O(1).
  void add(const NodeKey& key, int32_t begin, double score, double total, const SearchEdge& edge,
           const float* values);
  size_t size() const { return nodes_.size(); }

  // Drops all but the `beam` best nodes, in the order of making. For search that would otherwise
  // hold a bin's every node until its end; a node dropped and found again has lost its old edges.
  void shrink(uint32_t beam);

  // What survives, best first (of equals the older), with its edges. Empty afterwards.
  SearchBin close(const SearchLimits& limits);

 private:
  struct Made {
    SearchNode node;
    uint64_t hash;
    int32_t begin;  // as compared
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
