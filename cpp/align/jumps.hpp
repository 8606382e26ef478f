// Transition probabilities of the alignment HMM: p(i | i', I), by jump distance.
//
// A jump d = i - i' has a weight w(d); p(i | i', I) = w(i - i') / sum over i'' in the sentence of
// w(i'' - i'), so every sentence position has proper probabilities [och2003]. Jumps longer than the
// window share one weight per side (each position beyond the window has that weight). The first
// word has separate weights, by position. The last word is followed by an end mark at position I,
// which is aligned to the other side's end mark: it is part of all normalisers and the target of
// the last jump. Without it sentence-final punctuation tends to be aligned to the last word but
// one.
//
// Differs from [och2003]: they take w(d) proportional to the expected count of d, which need not
// raise the likelihood because of the different normalisers. We take steps of the minorise-maximise
// algorithm for such models [hunter2004], which never lowers it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hopefear::align {

// Expected numbers of jumps, and of departures from each position, for the normalisers.
struct JumpCounts {
  explicit JumpCounts(size_t window);
  std::vector<double> jumps;                    // laid out like Jumps::weights
  std::vector<double> start;                    // like Jumps::start
  std::vector<std::vector<double>> departures;  // [I][i']: jumps away from i' in length I
  std::vector<double> starts;                   // [I]
  // Allocates the arrays for sentences of I words.
  void reserve_length(size_t I);
};

class Jumps {
 public:
  // Starts with weights that decrease with the distance from a jump of 1, by half at `width`;
  // `prior` is the number of pseudo-jumps with that distribution. `window` >= 1.
  Jumps(size_t window, double prior, double width);

  size_t window() const { return window_; }
  // Tail to the left, d = -window .. window, tail to the right; sums to 1.
  const std::vector<double>& weights() const { return weights_; }
  // Positions 0 .. window, tail; sums to 1.
  const std::vector<double>& start() const { return start_; }
  // Sets the weights of a model read from a file; sizes as above, all positive and finite.
  void set(std::vector<double> weights, std::vector<double> start);

  // For a sentence of I words and its end: 1 / normaliser of each i' < I, and p(first = i), i <= I.
  void normalisers(size_t I, std::span<float> inverse) const;
  void first(size_t I, std::span<float> probability) const;

  // w(d) as floats around a centre, zero beyond the window and readable kMargin further.
  // `backward` is w(-d).
  static constexpr size_t kMargin = 16;  // the kernels work on up to 16 positions at a time
  const float* forward() const { return forward_.data() + window_ + kMargin; }
  const float* backward() const { return backward_.data() + window_ + kMargin; }
  float left_tail() const { return static_cast<float>(weights_.front()); }
  float right_tail() const { return static_cast<float>(weights_.back()); }

  // M-step: improves the likelihood of the counts and the prior.
  void update(const JumpCounts& counts);
  // Log of the prior density at these weights, up to a constant: a term of the bound.
  double log_prior() const;

 private:
  void refresh();
  size_t window_;
  double prior_;
  std::vector<double> weights_, start_, base_, start_base_;
  std::vector<double> sums_, start_sums_;  // prefix sums of the above
  std::vector<float> forward_, backward_;
};

}  // namespace hopefear::align
