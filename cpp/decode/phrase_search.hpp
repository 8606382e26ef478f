// Left-to-right search with bins by the number of covered source words.  [koehn2004beam, yu2013]
//
// A node is what later steps can tell apart of the derivations behind it: covered words, where the
// last phrase was, its forward reordering scores, the states of language models and templates.
// Derivations that agree in it recombine: each is an edge of the node. A bin keeps the `beam` nodes
// that are best by score + future cost, and of them all edges; nodes of all bins stay.
//
// Cube pruning [huang2007]: the ways from one set of covered words over one span are a grid, nodes
// times options, both best first. Grids that lead to the same bin share a queue, from which
// `pop_limit` cells are taken. A cell's place in the queue comes from scores that need no look-up
// (the option's estimate, distortion, reordering); language models and templates are asked when it
// is taken. That is one evaluation per pop, where evaluating before queueing costs one for each of
// the many grids whose first cell is never taken.
//
// The distortion limit: see DistortionRule.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "decode/coverage.hpp"
#include "decode/phrase_model.hpp"
#include "decode/phrase_options.hpp"
#include "decode/span_table.hpp"

namespace hopefear::decode {

struct SearchLimits {  // the defaults are in decode/phrase.py
  bool stack;          // expand every node by every option, instead of cube pruning
  uint32_t beam;       // nodes of a bin
  uint32_t pop_limit;  // cells taken for a bin
  double threshold;    // nodes this much below the best of their bin are dropped; 0: none
  int32_t distortion;  // -1: no limit
};

// Which phrase may come next under a limit of D words (-1: any): [a, b) needs |a - end of the last
// one| <= D, and, unless a is the first gap g, b - g <= D so that the gap can still be reached.
// Every node can be completed.
struct DistortionRule {
  int32_t limit;

  bool may_jump(int32_t last_end, int32_t begin) const {
    return limit < 0 || std::abs(begin - last_end) <= limit;
  }
  // Where a phrase that begins at an uncovered word may end; no phrase begins there if that is not
  // behind it.
  int32_t farthest(int32_t first_gap, int32_t begin, int32_t length) const {
    if (limit < 0 || begin == first_gap) return length;
    return static_cast<int32_t>(std::min<int64_t>(length, int64_t{first_gap} + limit));
  }
};

struct SearchNode {
  double score;        // of its best derivation
  double total;        // score + future cost
  uint32_t coverage;   // number of the set
  uint32_t forward;    // class of the last phrase's forward reordering scores
  int32_t begin, end;  // of the last phrase
};

struct SearchEdge {
  uint32_t tail;  // number of a node, all bins counted
  uint32_t option;
};

// The nodes of a bin after pruning, best first, with their edges in the order they were made.
struct SearchBin {
  uint32_t first = 0;  // number of its first node, all bins counted
  std::vector<SearchNode> nodes;
  std::vector<std::byte> states;      // language models (4 bytes each), then templates
  std::vector<uint32_t> edges_begin;  // nodes + 1
  std::vector<SearchEdge> edges;
  // For each edge, each language model's feature value; then, if asked for, the score of the
  // templates with a state.
  std::vector<float> values;
};

// What a search leaves to be written as a forest. None of it is owned.
struct SearchGraph {
  // Bin 0 has one node without edges; derivations end with the nodes of the last one.
  const std::vector<SearchBin>& bins;
  const CoverageTable& coverage;
  size_t state_size;     // bytes in SearchBin::states for each node
  bool sentence = true;  // false: of a part of a sentence; the goal's edges add nothing
  bool scores = false;   // whether SearchBin::values has templates, too
};

class OpenBin;  // a bin that still grows

class PhraseSearch {
 public:
  // None of them is owned. `scores`: keep those of templates with a state.
  PhraseSearch(const PhraseModel& model, const PhraseWeights& weights, const OptionTable& options,
               const SpanTable& spans, const SearchLimits& limits, bool scores);
  ~PhraseSearch();
  void run();

  // After run(): bins 0 .. n.
  SearchGraph graph() const { return {bins_, coverage_, state_size_, true, scores_}; }

  // Of a phrase [begin, end) behind `last`.
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
  std::vector<std::vector<Cube>> cubes_;        // by covered words of where they lead
  std::vector<Group> groups_;
  std::vector<uint32_t> members_;  // of groups: places in their bin
  std::vector<Row> rows_;          // of the cubes of the bin at hand
  std::vector<Cell> queue_;
  size_t groups_here_ = 0;  // where those of the bin at hand begin
  static constexpr uint32_t kNoGroup = 0xffffffff;
  std::vector<uint32_t> group_of_;  // by coverage, while groups are made
  std::vector<std::byte> state_;    // of the hypothesis at hand
  std::vector<float> values_;       // as in SearchBin
  uint32_t ticks_ = 0;
};

}  // namespace hopefear::decode
