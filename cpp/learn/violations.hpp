// Good and bad derivations of each bin of phrase search.  [yu2013]
//
// The beam forest is the output of search; the gold forest has all derivations of the reference
// (forced decoding), and every node of it can be completed. Bin i has the nodes that cover i source
// words; for complete derivations the last bin has only the goal, whose edges add the end of the
// sentence.
//
// A partial derivation of the beam is good if it yields the first j words of the reference and the
// gold forest has a node with its covered words, its end of the last phrase, and j: whether it can
// be completed depends on nothing else. All others are bad: those that do not yield a prefix of the
// reference, and those that do but cannot be completed. Every continuation of a bad derivation is
// bad.
#pragma once

#include <cstdint>
#include <vector>

#include "base/sparse_vector.hpp"
#include "base/weights.hpp"
#include "forest/derivation.hpp"
#include "forest/future.hpp"

namespace hopefear {

class Violations {
 public:
  struct Bin {
    double good;      // score of the best good derivation, in the gold forest
    double bad;       // of the best bad derivation in the beam
    double survivor;  // of the best good derivation in the beam; -infinity if none
    uint32_t good_node = 0, bad_node = 0, bad_entry = 0;
  };

  // `future`, if not null: add the future costs of the uncovered words to scores, as search does;
  // used only in the constructor. std::invalid_argument if an edge has several tails or words
  // before its tail, i.e. if the forest is not of left-to-right search. O(nodes + edges of both
  // forests) times the number of reference positions per node, mostly one.
  Violations(Forest beam, Forest gold, const Weights& weights, bool complete,
             const Future* future = nullptr);

  const std::vector<Bin>& bins() const { return bins_; }  // by covered words, 0 first
  uint32_t longest() const { return longest_; }           // source words of a phrase in `gold`
  std::vector<uint32_t> last_nodes() const;               // the beam's nodes in the last bin
  Derivation good(size_t bin) const;                      // it must exist (score above -infinity)
  Derivation bad(size_t bin) const;
  SparseVector difference(size_t bin) const;  // features of good - features of bad
  // The source words that the good and the bad derivation cover.
  std::span<const uint64_t> good_coverage(size_t bin) const;
  std::span<const uint64_t> bad_coverage(size_t bin) const;

 private:
  // The best derivation of a beam node that yields the first `place` words of the reference, or the
  // best bad one.
  struct Entry {
    double score;
    uint32_t edge, before;  // `before`: entry of the tail, if any
    int32_t place;          // or kBad
  };
  static constexpr int32_t kBad = -1;

  void read_gold(const Weights& weights);
  void find_places();
  void search(const Weights& weights);
  void fill_bins(const Future* future);
  bool in_bin(const Forest& forest, uint32_t node) const;

  Forest beam_, gold_;
  const bool complete_;
  uint32_t length_ = 0, longest_ = 0;
  std::vector<Bin> bins_;
  std::vector<uint32_t> gold_edges_;        // per gold node: the first edge of its best derivation
  std::vector<double> gold_scores_;         // and its score
  std::vector<int32_t> gold_places_;        // and its number of target words
  std::vector<int32_t> reference_;          // words of the beam's vocabulary
  std::vector<std::vector<int32_t>> good_;  // by key: places of gold nodes
  std::vector<uint32_t> keys_;              // per beam node
  std::vector<Entry> entries_;
  std::vector<uint32_t> entries_begin_;  // per beam node, + 1
};

}  // namespace hopefear
