// Dense features: each is defined once, in a header of this folder, for all decoders.
//
// A feature is a small struct: its numbers in a model, its unit, and functions for the
// contributions of a rule anywhere, of a step that depends on a state, and of the end of a
// sentence. They write to an accumulator, `out.add(number, unit, amount)`, with the value unit *
// amount. While decoding the accumulator is a weighted sum, the score; on replay it records the
// values. All are templates, so that the compiled code equals sums written by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hopefear::features {

inline constexpr uint32_t kAbsent = 0xffffffff;  // the number of a feature that a model lacks

// Weights times values. `weights` are by number, and borrowed.
struct WeightedSum {
  std::span<const double> weights;
  double score = 0;
  void add(uint32_t number, double unit, double amount) {
    score += weights[number] * unit * amount;
  }
};

// Sums of values, by number.
struct ValueSums {
  std::vector<double> values;
  void add(uint32_t number, double unit, double amount) { values[number] += unit * amount; }
};

// Calls record(number, value) for each value, as float like in forests.
template <typename F>
struct Recorder {
  F record;
  void add(uint32_t number, double unit, double amount) {
    record(number, static_cast<float>(unit * amount));
  }
};
template <typename F>
Recorder(F) -> Recorder<F>;

// Sums and records, for values that are expensive to compute: writes them to `to` consecutively and
// sums the recorded floats.
struct ScoredValues {
  std::span<const double> weights;
  float* to;  // borrowed
  double score = 0;
  void add(uint32_t number, double unit, double amount) {
    *to = static_cast<float>(unit * amount);
    score += weights[number] * *to++;
  }
};

}  // namespace hopefear::features
