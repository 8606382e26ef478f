// Features of the positions of a phrase and its predecessor: distortion and lexicalised reordering.
// The state is the span of the last phrase and its forward scores.
#pragma once

#include <array>
#include <cstdlib>
#include <span>

#include "features/dense/counts.hpp"

namespace hopefear::features {

// The width of the jump: source words between the end of the last phrase and the next one.
struct Distortion : Count {
  static int32_t width(int32_t last_end, int32_t begin) { return std::abs(begin - last_end); }
  template <typename Out>
  void jump(int32_t last_end, int32_t begin, Out&& out) const {
    add(width(last_end, begin), out);
  }
};

enum Orientation : size_t { kMono, kSwap, kOther, kOrientations };

using OrientationScores = std::array<float, kOrientations>;

// The orientation of a phrase [begin, end) after the last one.
inline Orientation orientation(int32_t last_begin, int32_t last_end, int32_t begin, int32_t end) {
  return begin == last_end ? kMono : end == last_begin ? kSwap : kOther;
}

// The last columns of a table: three backward scores, for the phrase's orientation relative to its
// predecessor, and optionally three forward scores, for that of the next phrase relative to it. The
// last phrase has no forward score, and a phrase that is in no table has neither.
struct Reordering {
  uint32_t first = 0;    // their numbers are consecutive
  uint32_t columns = 0;  // 0, 3 or 6
  bool present() const { return columns > 0; }
  bool has_forward() const { return columns > kOrientations; }
  // The begin of the last phrase if recombination must compare it, else -1.
  int32_t state(int32_t begin) const { return present() ? begin : -1; }

  template <typename Out>
  void backward(std::span<const float> scores, Orientation o, Out&& out) const {
    if (!scores.empty()) out.add(first + o, 1, scores[o]);
  }
  // `last`: forward scores of the last phrase.
  template <typename Out>
  void forward(const OrientationScores& last, Orientation o, Out&& out) const {
    if (has_forward()) out.add(first + kOrientations + o, 1, last[o]);
  }
  OrientationScores forward_scores(std::span<const float> scores) const {
    if (!has_forward() || scores.empty()) return {};
    return {scores[3], scores[4], scores[5]};
  }
};

}  // namespace hopefear::features
