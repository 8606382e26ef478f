// The upper envelope of a forest's derivations along a line in weight space: for MERT on
// hypergraphs [macherey2008, kumar2009].
#pragma once

#include <cstdint>
#include <vector>

#include "forest/inference.hpp"

namespace hopefear {

// With weights w + x * direction a derivation's score is the line intercept + slope * x. The
// envelope is the best derivation for each x: segments from left to right with ascending slopes.
class Envelope {
 public:
  struct Segment {
    double start;  // the x where it begins, -infinity for the first
    double slope, intercept;
  };
  // `scores` are the intercepts of edges; slopes must be finite. Exact. Of derivations with the
  // same slope (up to rounding, see envelope.cpp) only the one with the largest intercept can be
  // part of the envelope; ties go to the smaller edge numbers. O(sum of the envelopes' sizes at all
  // nodes), in practice a small multiple of E.
  Envelope(const Forest& forest, Scores scores, std::span<const double> slopes, Roots roots);

  const std::vector<Segment>& segments() const { return segments_; }  // empty: no derivation
  Derivation derivation(size_t segment, double x) const;              // with its score at x

 private:
  // One line of a node's envelope: an edge and the lines chosen at its tails.
  struct Line {
    double slope, intercept, start;
    uint32_t edge;    // in the top envelope: the root's index
    uint32_t choice;  // offset in choices_: indices into lines_, one per tail
  };
  void add_edge(const Forest& forest, Scores scores, std::span<const double> slopes, uint32_t edge);
  void merge();

  Forest forest_;
  // Scratch for one node: its envelope so far, the lines of the next edge, the merged envelope, and
  // the choices.
  std::vector<Line> upper_, more_, merged_;
  std::vector<uint32_t> tried_, at_;
  std::vector<Line> lines_;
  std::vector<uint32_t> first_;  // N + 1: lines of each node
  std::vector<uint32_t> choices_;
  std::vector<Segment> segments_;
  std::vector<uint32_t> segment_lines_;
};

}  // namespace hopefear
