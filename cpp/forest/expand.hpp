// Splits the nodes of a forest by the states of a scorer, with cube pruning: the one function that
// brings a stateful score (a language model over a chart, BLEU, a string automaton) into a forest.
// [chiang2007, huang2007]
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/id_numbers.hpp"
#include "forest/builder.hpp"
#include "forest/forest.hpp"
#include "forest/inference.hpp"

namespace hopefear {

// Local numbers of features: those of a forest, and new ones behind them.
class FeatureNumbers {
 public:
  explicit FeatureNumbers(std::span<const FeatureId> ids);
  uint32_t feature(FeatureId id);  // its local number; std::invalid_argument for 0
  std::span<const FeatureId> ids() const { return ids_; }

 private:
  std::vector<FeatureId> ids_;
  IdNumbers numbers_;
  FeatureId last_id_ = 0;  // most scorers fire one feature again and again
  uint32_t last_number_ = 0;
};

// Scores an edge when the states of its tails are known. One thread at a time uses a scorer, so it
// may have scratch memory; what it returns depends on its arguments only.
//
// A state is state_size() bytes, compared and hashed as such: write all of them. Behind them are
// the payload_size() bytes of the payload, which are not compared: every kept edge's own is handed
// to record(), so that nothing has to be computed twice; and of all edges of a new node that of its
// best derivation goes on behind its state (how many n-grams matched so far). States are aligned to
// 8 bytes, payloads are if state_size() is a multiple of 8.
class EdgeScorer {
 public:
  virtual ~EdgeScorer() = default;
  virtual size_t state_size() const = 0;
  virtual size_t payload_size() const { return 0; }
  // Writes the state of the head and the payload; returns what is added to the edge's score,
  // -infinity to forbid it. One state per tail, in their order. At the goal a scorer that has
  // nothing to remember there writes zeros.
  virtual double score(uint32_t edge, std::span<const std::byte* const> tails,
                       std::byte* state) = 0;
  // A guess of what score() returns for an edge whatever its tails, the better the more calls of
  // score() it saves under a beam. +infinity: no guess.
  virtual double estimate(uint32_t edge) {
    (void)edge;
    return std::numeric_limits<double>::infinity();
  }
  // The features behind that score, appended to `own`, for the edges that are kept; `payload` is
  // what score() wrote for this edge and these tails.
  virtual void record(uint32_t edge, std::span<const std::byte* const> tails,
                      const std::byte* payload, FeatureNumbers& features,
                      std::vector<FeatureEntry>& own) {
    (void)edge, (void)tails, (void)payload, (void)features, (void)own;
  }
};

// More edges than the options allow.
class ExpandLimit : public InputError {
 public:
  using InputError::InputError;
};

inline constexpr size_t kExpandLimit = 50'000'000;  // edges, unless somebody says otherwise

struct ExpandOptions {
  size_t beam;   // pops per node of the forest; 0: everything, exactly
  size_t limit;  // edges in all; more is an ExpandLimit
  // The goal's states become one node, the new goal; otherwise there is no goal, and whoever asks
  // looks for its nodes in Expanded::nodes. A goal that is also a tail is there in both forms.
  bool merge_goal;
  // Score every candidate before it is queued, as Chiang and cdec do. Otherwise a candidate waits
  // with a guess (what its predecessor's scorer added) and is scored when it comes to the top.
  bool eager;
};

struct Expanded {
  Forest forest;
  std::vector<uint32_t> edges;  // of each new edge: the old one
  std::vector<uint32_t> nodes;  // of each new node: the old one
  std::vector<double> scores;   // of each new edge, with what the scorer added
  std::vector<double> best;     // of each new node: the score of its best derivation
  // Of each new node its state and the payload of its best derivation; `stride` bytes each. The
  // merged goal has those of its best derivation.
  std::vector<std::byte> states;
  size_t stride = 0;
  size_t scored = 0;  // calls of score()
};

// `scores` are those of the edges without the scorer. Nodes without a derivation disappear; the
// others come in the order of the old ones, and those of one old node best first. Edges of a node
// are in the order in which they were popped; ties go to what was queued first, seeds in the order
// of edges. Rows and features that no new edge has are left out.
Expanded expand(const Forest& forest, Scores scores, EdgeScorer& scorer,
                const ExpandOptions& options);

}  // namespace hopefear
