// Dense features: each is defined once, in a header of this folder, for all decoders.
//
// A feature is a small struct: its numbers in a model, its unit, and functions for what a rule adds
// wherever it is used, what depends on a state, and what the end of a sentence adds. They write
// into an accumulator, `out.add(number, unit, amount)`: the value is unit * amount. A weighted sum
// is the score while decoding; on replay the values are recorded. All are templates, so that a
// compiler makes the same code of them as of sums written by hand.
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

// record(number, value) for each value as forests keep it.
template <typename F>
struct Recorder {
  F record;
  void add(uint32_t number, double unit, double amount) {
    record(number, static_cast<float>(unit * amount));
  }
};
template <typename F>
Recorder(F) -> Recorder<F>;

// Both, for values that are too costly to be computed twice: they go to `to`, one behind the other,
// and what is summed is what is recorded.
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
