// Features of the positions of a phrase and its predecessor: distortion and lexicalised reordering.
// The state is the span of the last phrase and its forward scores.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "features/dense/counts.hpp"

namespace hopefear::features {

// The width of a jump: source words between the end of the last phrase and the next one. If
// `early`, twice the source words that a phrase skips or comes back for, counted as soon as the
// phrase is known.  [moore2007; Differs: no cost for the jump to the end of the sentence, as in
// Moses]
struct Distortion : Count {
  bool early = false;
  // The phrase [begin, end) after a phrase that ends at `last_end`; `gap`: the first word that is
  // not covered before it.
  int32_t width(int32_t last_end, int32_t gap, int32_t begin, int32_t end) const {
    if (!early) return std::abs(begin - last_end);
    if (begin == gap) return 0;
    if (end < last_end) return 2 * (end - begin);
    return 2 * (end - std::max(gap, last_end));
  }
  template <typename Out>
  void jump(int32_t last_end, int32_t gap, int32_t begin, int32_t end, Out&& out) const {
    add(width(last_end, gap, begin, end), out);
  }
};

// The position of a phrase relative to its predecessor: next to it, on either side, or farther
// away.
enum Orientation : size_t { kMono, kSwap, kRight, kLeft, kOrientations };

using OrientationScores = std::array<float, kOrientations>;

// The orientation of a phrase [begin, end) after the last one.
inline Orientation orientation(int32_t last_begin, int32_t last_end, int32_t begin, int32_t end) {
  return begin == last_end ? kMono : end == last_begin ? kSwap : begin > last_end ? kRight : kLeft;
}

// A set of orientations that a model distinguishes: the score that stands for each position.
struct Orientations {
  std::array<uint8_t, kOrientations> index;  // by Orientation
  uint32_t size;                             // number of scores
};
inline constexpr Orientations kMsd = {{0, 1, 2, 2}, 3};           // mono, swap, other
inline constexpr Orientations kMslr = {{0, 1, 2, 3}, 4};          // mono, swap, right, left
inline constexpr Orientations kMonotonicity = {{0, 1, 1, 1}, 2};  // mono, other
inline constexpr Orientations kLeftRight = {{0, 1, 0, 1}, 2};     // right, left

// The last columns of a table: backward scores, for the phrase's orientation relative to its
// predecessor, and forward scores, for that of the next phrase relative to it, or only one of the
// two. The last phrase has no forward score, and a phrase that is in no table has neither. All
// scores of a direction may be one feature (`collapsed`); otherwise each is a feature.
struct Reordering {
  uint32_t first = 0;  // the numbers of the features are consecutive
  Orientations orientations = kMsd;
  bool backward_scores = false, forward_scores = false;
  bool collapsed = false;

  bool present() const { return backward_scores || forward_scores; }
  bool has_forward() const { return forward_scores; }
  uint32_t directions() const { return uint32_t{backward_scores} + uint32_t{forward_scores}; }
  uint32_t columns() const { return directions() * orientations.size; }
  uint32_t features() const { return collapsed ? directions() : columns(); }
  // The begin of the last phrase if recombination must compare it, else -1.
  int32_t state(int32_t begin) const { return present() ? begin : -1; }

  template <typename Out>
  void backward(std::span<const float> scores, Orientation o, Out&& out) const {
    if (!backward_scores || scores.empty()) return;
    const uint32_t i = orientations.index[o];
    out.add(first + (collapsed ? 0 : i), 1, scores[i]);
  }
  // `last`: forward scores of the last phrase.
  template <typename Out>
  void forward(const OrientationScores& last, Orientation o, Out&& out) const {
    if (!forward_scores) return;
    const uint32_t i = orientations.index[o];
    out.add(first + forward_offset() + (collapsed ? 0 : i), 1, last[i]);
  }
  OrientationScores forward_of(std::span<const float> scores) const {
    OrientationScores result{};
    if (forward_scores && !scores.empty()) {
      std::copy_n(scores.end() - orientations.size, orientations.size, result.begin());
    }
    return result;
  }

 private:
  uint32_t forward_offset() const {
    return !backward_scores ? 0 : collapsed ? 1 : orientations.size;
  }
};

}  // namespace hopefear::features
