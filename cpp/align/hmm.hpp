// Inference for one sentence pair in one direction: Model 1 [brown1993] and the HMM [vogel1996]
// with the empty word of [och2003].
//
// The generating words are the states, the generated words the observations. An observation comes
// from the empty word with probability p0; the HMM then keeps the last real position (Och and Ney's
// second set of states). Since the transitions from a kept position equal those from the position
// itself, the recursion needs only the sum of both, and the empty word adds no cost. A share of the
// jumps is uniform over positions, as in the smoothing of [och2003]; without it long jumps back are
// too improbable.
//
// Probabilities are floats, scaled per observation: lexical weights and jumps have floors, so
// nothing underflows in sentences of thousands of words. Log-likelihoods are natural logs in
// double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "align/jumps.hpp"
#include "align/kernels.hpp"

namespace hopefear::align {

struct Emissions {
  size_t states, observations;
  const float* word;   // t(observation | state) at [observation * stride() + state], padding zero
  const float* empty;  // t(observation | empty word)
  size_t stride() const { return padded(states); }
};

// The expected jumps of one sentence: size(states) floats in a buffer of the caller, which are
// added up in the order of the sentences, whichever thread computed them.
struct SentenceJumps {
  size_t states;
  float* values;
  static size_t size(size_t states) { return 4 * states + 3; }
  float& left_tail() const { return values[0]; }
  float* centre() const { return values + states; }  // d from -(states - 1) to states
  float& right_tail() const { return values[2 * states + 1]; }
  float* start() const { return values + 2 * states + 2; }  // 0 to states, the end
  float* departures() const { return values + 3 * states + 3; }
  // Adds the expected jumps to `counts`; those longer than the window go to the tails.
  void add_to(JumpCounts& counts, size_t window) const;
};

// Scratch memory of inference, one per thread; grows to the longest sentence seen.
struct Scratch {
  std::vector<float> reached, left, right, mass, beta, inverse, normaliser, first, end, product,
      counts;
  std::vector<double> scale;
};

struct HmmParameters {
  double p0;       // of the empty word
  double uniform;  // share of the jumps that is uniform over positions
};

// The log-likelihood; writes posterior[observation * stride + state] and
// empty_posterior[observation], which may be the emissions' own memory, and the expected jumps
// unless `expected` is null.
double model1_posteriors(double p0, const Emissions& pair, float* posterior,
                         float* empty_posterior);
double hmm_posteriors(const Jumps& jumps, const HmmParameters& parameters, const Emissions& pair,
                      Scratch& scratch, float* posterior, float* empty_posterior,
                      const SentenceJumps* expected);

}  // namespace hopefear::align
