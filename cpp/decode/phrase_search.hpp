// Left-to-right search with bins by the number of covered source words.  [koehn2004beam, yu2013]
//
// The signature of a node is what later steps depend on: covered words, the span of the last
// phrase, its forward reordering scores, the states of language models and templates. Hypotheses
// with the same signature recombine: each is an edge of the node. A bin keeps the `beam` best nodes
// by score + future cost, with all their edges; the nodes of all bins are kept.
//
// Cube pruning [huang2007]: the extensions of one coverage set by one span form a grid, nodes times
// options, both best first. Grids that lead to the same bin share a queue, from which `pop_limit`
// cells are popped. Cells are queued by scores that need no look-up (the option's estimate,
// distortion, reordering); language models and templates are evaluated when a cell is popped. This
// costs one evaluation per pop; evaluating before queueing would cost one for each of the many
// grids whose first cell is never popped.
//
// Moses's cube pruning differs in two orders: it queues cells by their exact scores, language model
// included, and sorts the rows of a grid without forward reordering scores. With both orders this
// search finds Moses's scores. Its pops are better chosen, but cost twice the time; at equal time
// our order is as good or better, so a pop limit here is worth about half of Moses's
// (docs/results/end-to-end.md).
//
// The distortion limit: see DistortionRule.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/probing_table.hpp"
#include "decode/coverage.hpp"
#include "decode/phrase_model.hpp"
#include "decode/phrase_options.hpp"
#include "decode/span_table.hpp"

namespace hopefear::decode {

struct SearchLimits {  // the defaults are in decode/phrase.py
  bool stack;          // expand every node by every option, instead of cube pruning
  uint32_t beam;       // nodes per bin
  uint32_t pop_limit;  // cells popped per bin
  double threshold;    // nodes this much below the best of their bin are dropped; 0: none
  int32_t distortion;  // -1: no limit
};

// The phrases that may come next under a limit of D words (-1: no limit): [a, b) needs |a - end of
// the last phrase| <= D and, unless a is the first gap g, b - g <= D, so that the gap can still be
// reached. Every node can be completed.
struct DistortionRule {
  int32_t limit;

  bool may_jump(int32_t last_end, int32_t begin) const {
    return limit < 0 || std::abs(begin - last_end) <= limit;
  }
  // The largest end of a phrase that begins at the uncovered word `begin`; no phrase may begin
  // there if it is not greater than `begin`.
  int32_t farthest(int32_t first_gap, int32_t begin, int32_t length) const {
    if (limit < 0 || begin == first_gap) return length;
    return static_cast<int32_t>(std::min<int64_t>(length, int64_t{first_gap} + limit));
  }
};

struct SearchNode {
  double score;        // of its best derivation
  double total;        // score + future cost
  uint32_t coverage;   // number in the CoverageTable
  uint32_t forward;    // class of the last phrase's forward reordering scores
  int32_t begin, end;  // of the last phrase
};

struct SearchEdge {
  uint32_t tail;  // node number across all bins
  uint32_t option;
};

// The nodes of a bin after pruning, best first, with their edges in the order of insertion.
struct SearchBin {
  uint32_t first = 0;  // number of its first node across all bins
  std::vector<SearchNode> nodes;
  std::vector<std::byte> states;      // language models (4 bytes each), then templates
  std::vector<uint32_t> edges_begin;  // nodes + 1
  std::vector<SearchEdge> edges;
  // Per edge: the feature value of each language model; then, if the search keeps scores, the score
  // of the stateful templates.
  std::vector<float> values;
};

// The result of a search, to be written as a forest. Owns nothing.
struct SearchGraph {
  // Bin 0 has one node without edges; derivations end in the nodes of the last bin.
  const std::vector<SearchBin>& bins;
  const CoverageTable& coverage;
  size_t state_size;     // bytes in SearchBin::states for each node
  bool sentence = true;  // false: only a part of a sentence; the goal's edges add no features
  bool scores = false;   // whether SearchBin::values includes the score of templates
};

class OpenBin;  // a bin that is being filled

class PhraseSearch {
 public:
  // Owns none of its arguments. `scores`: keep the scores of stateful templates.
  PhraseSearch(const PhraseModel& model, const PhraseWeights& weights, const OptionTable& options,
               const SpanTable& spans, const SearchLimits& limits, bool scores);
  ~PhraseSearch();
  void run();

  // After run(): bins 0 .. number of words.
  SearchGraph graph() const { return {bins_, coverage_, state_size_, true, scores_}; }

  // The orientation of a phrase [begin, end) after `last`.
  static features::Orientation orientation(const SearchNode& last, int32_t begin, int32_t end) {
    return features::orientation(last.begin, last.end, begin, end);
  }

 private:
  struct Cube;
  struct Row;
  struct Cell;
  struct Group;

  void start();
  void close(int32_t covered);
  struct Span;
  template <typename F>
  void for_spans(uint32_t coverage, F&& f) const;
  double rest_after(uint32_t coverage, const Span& span) const;
  double jump_score(const SearchNode& last, int32_t begin, int32_t end) const;
  void evaluate(const SearchBin& from, uint32_t index, double with_jump, uint32_t option,
                uint32_t coverage, OpenBin& into);
  void expand_all(int32_t covered);
  void make_cubes(int32_t covered);
  void take_cells(int32_t covered);
  void make_rows(Cube& cube);
  void make_groups(const SearchBin& bin);
  void queue_cell(const Cube& cube, uint32_t number, double row_score, uint32_t orientation,
                  uint32_t row, uint32_t option);
  OpenBin& open(int32_t covered);
  double step_templates(uint32_t option, const std::byte* tail);

  // A step of the stateful templates. It depends on the option and the templates' states alone, and
  // hypotheses that differ elsewhere take it again: two thirds of the steps of a search are known.
  struct TemplateStep {
    double score = 0;
    uint32_t after = 0;  // where the states after it begin in after_steps_
  };
  static constexpr size_t kMostSteps = size_t{1} << 18;

  const PhraseModel& model_;
  const PhraseWeights& weights_;
  features::Sink sink_;  // of stateful templates
  const OptionTable& options_;
  const SpanTable& spans_;
  const SearchLimits limits_;
  const DistortionRule distortion_;
  const int32_t length_;
  const size_t lms_, state_size_;
  const bool scores_;
  CoverageTable coverage_;
  std::vector<double> jump_scores_;  // of distortion, by width
  std::vector<SearchBin> bins_;
  std::vector<std::unique_ptr<OpenBin>> open_;  // by covered words; null when closed
  std::vector<std::vector<Cube>> cubes_;        // by covered words of the bin they lead to
  std::vector<Group> groups_;
  std::vector<uint32_t> members_;  // of groups: indices in their bin
  std::vector<Row> rows_;          // of the cubes of the current bin
  std::vector<Cell> queue_;
  size_t groups_here_ = 0;  // where those of the current bin begin
  static constexpr uint32_t kNoGroup = 0xffffffff;
  std::vector<uint32_t> group_of_;  // by coverage, while groups are made
  std::vector<std::byte> state_;    // of the current hypothesis
  ProbingMap<TemplateStep> steps_;  // by a hash of the option and the states before it
  std::vector<std::byte> after_steps_;
  std::vector<float> values_;  // as in SearchBin
  uint32_t ticks_ = 0;
};

}  // namespace hopefear::decode
