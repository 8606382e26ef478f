// Splits the nodes of a forest by the states of a scorer, with cube pruning: adds a stateful score
// (a language model over a chart, BLEU, a string automaton) to a forest. [chiang2007, huang2007]
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

// Local numbers of features: those of a forest, followed by new ones.
class FeatureNumbers {
 public:
  explicit FeatureNumbers(std::span<const FeatureId> ids);
  uint32_t feature(FeatureId id);  // returns its local number; std::invalid_argument for 0
  std::span<const FeatureId> ids() const { return ids_; }

 private:
  std::vector<FeatureId> ids_;
  IdNumbers numbers_;
  FeatureId last_id_ = 0;  // cache: most scorers fire a single feature
  uint32_t last_number_ = 0;
};

// Scores an edge given the states of its tails. A scorer is used by one thread at a time, so it may
// have scratch memory; its results depend on its arguments only.
//
// A state is state_size() bytes, which are compared and hashed, so score() must write all of them.
// They are followed by payload_size() bytes of payload, which are not compared. The payload of
// every kept edge is passed to record(), so that nothing is computed twice; and a new node keeps
// the payload of its best derivation after its state (e.g. the number of n-gram matches so far).
// States are aligned to 8 bytes; payloads are too if state_size() is a multiple of 8.
class EdgeScorer {
 public:
  virtual ~EdgeScorer() = default;
  virtual size_t state_size() const = 0;
  virtual size_t payload_size() const { return 0; }
  // Takes one state per tail, in order; writes the state of the head and the payload; returns the
  // amount to add to the edge's score, -infinity to forbid the edge. At the goal a scorer without a
  // state writes zeros.
  virtual double score(uint32_t edge, std::span<const std::byte* const> tails,
                       std::byte* state) = 0;
  // An estimate of score() for an edge without knowledge of its tails; +infinity: none. The better
  // the estimate, the more calls of score() it saves under a beam.
  virtual double estimate(uint32_t edge) {
    (void)edge;
    return std::numeric_limits<double>::infinity();
  }
  // Appends the features behind that score to `own`, for a kept edge; `payload` is what score()
  // wrote for this edge and these tails.
  virtual void record(uint32_t edge, std::span<const std::byte* const> tails,
                      const std::byte* payload, FeatureNumbers& features,
                      std::vector<FeatureEntry>& own) {
    (void)edge, (void)tails, (void)payload, (void)features, (void)own;
  }
};

// Thrown when expansion makes more edges than the options allow.
class ExpandLimit : public InputError {
 public:
  using InputError::InputError;
};

inline constexpr size_t kExpandLimit = 50'000'000;  // the default limit on edges

struct ExpandOptions {
  size_t beam;   // pops per node of the forest; 0: no limit, exact
  size_t limit;  // total number of edges; beyond it ExpandLimit is thrown
  // Merge the states of the goal into one node, the new goal. Otherwise the result has no goal; its
  // nodes are found through Expanded::nodes. A goal that is also a tail exists in both forms.
  bool merge_goal;
  // Score every candidate before it is queued, as Chiang and cdec do. Otherwise a candidate is
  // queued with an estimate (the scorer's addition to its predecessor) and scored when it reaches
  // the top of the queue.
  bool eager;
};

struct Expanded {
  Forest forest;
  std::vector<uint32_t> edges;  // per new edge: the old one
  std::vector<uint32_t> nodes;  // per new node: the old one
  std::vector<double> scores;   // per new edge, including what the scorer added
  std::vector<double> best;     // per new node: the score of its best derivation
  // Per new node its state and the payload of its best derivation, `stride` bytes each. The merged
  // goal has those of its best derivation.
  std::vector<std::byte> states;
  size_t stride = 0;
  size_t scored = 0;  // calls of score()
};

// `scores`: of the edges, without the scorer. Nodes without a derivation are dropped; new nodes are
// in the order of the old ones, those of the same old node best first. Edges of a node are in the
// order in which they were popped; ties go to the candidate queued first, seeds in the order of
// edges. Rows and features without a new edge are dropped.
Expanded expand(const Forest& forest, Scores scores, EdgeScorer& scorer,
                const ExpandOptions& options);

}  // namespace hopefear
