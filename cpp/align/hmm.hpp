// Inference for one sentence pair in one direction: Model 1 [brown1993] and the HMM [vogel1996]
// with the empty word of [och2003].
//
// The words that generate are the states, the words that are generated the observations. The
// probability that an observation comes from the empty word is p0; the HMM then remembers the last
// real position (Och and Ney's second set of states). Because leaving a remembered position is like
// leaving the position itself, the sum of both is all the recursion needs: the empty word costs
// nothing. A share of the jumps goes anywhere with equal probability, as in the smoothing of
// [och2003]; without it the way back to a word that moved far costs too much.
//
// Everything is scaled per observation, in floats: no probability is ever far from its row's sum
// (lexical weights have a floor, jumps have one too), so nothing underflows in sentences of
// thousands of words. The logarithm of the likelihood is a double.
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

// The expected jumps of one sentence: slots in a buffer of the caller's, so that they can be added
// up in the order of the sentences whoever computed them. Floats, size(states) of them.
struct SentenceJumps {
  size_t states;
  float* values;
  static size_t size(size_t states) { return 4 * states + 3; }
  float& left_tail() const { return values[0]; }
  float* centre() const { return values + states; }  // d from -(states - 1) to states
  float& right_tail() const { return values[2 * states + 1]; }
  float* start() const { return values + 2 * states + 2; }  // 0 to states, the end
  float* departures() const { return values + 3 * states + 3; }
  // Jumps further than the window go to the tails.
  void add_to(JumpCounts& counts, size_t window) const;
};

// What inference needs meanwhile; grows to the longest sentence seen. One per thread.
struct Scratch {
  std::vector<float> reached, left, right, mass, beta, inverse, normaliser, first, end, product,
      counts;
  std::vector<double> scale;
  std::vector<uint8_t> from_empty;
  std::vector<size_t> leader;
};

struct HmmParameters {
  double p0;       // of the empty word
  double uniform;  // share of the jumps that go anywhere with equal probability
};

// The log-likelihood; writes posterior[observation * stride + state] and
// empty_posterior[observation], which may be the emissions' own memory, and the expected jumps
// unless `expected` is null.
double model1_posteriors(double p0, const Emissions& pair, float* posterior,
                         float* empty_posterior);
double hmm_posteriors(const Jumps& jumps, const HmmParameters& parameters, const Emissions& pair,
                      Scratch& scratch, float* posterior, float* empty_posterior,
                      const SentenceJumps* expected);

// The best state of each observation, -1 for the empty word. Of equals the one with the smallest
// number; a real word before the empty one. A jump counts with the better of its two explanations
// (by its distance, or as one that goes anywhere), not with their sum.
void model1_best(double p0, const Emissions& pair, std::vector<int32_t>& best);
void hmm_best(const Jumps& jumps, const HmmParameters& parameters, const Emissions& pair,
              Scratch& scratch, std::vector<int32_t>& best);

}  // namespace hopefear::align
