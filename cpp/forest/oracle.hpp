// Derivations that are good or bad by model and metric: candidates for oracle, hope and fear.
// [li2009oracle, chiang2012, eidelman2013]
#pragma once

#include <functional>
#include <vector>

#include "forest/inference.hpp"
#include "metrics/bleu_references.hpp"
#include "metrics/ngram_gain.hpp"

namespace hopefear {

struct OracleOptions {
  double model;               // what the model's score is multiplied with
  std::vector<double> signs;  // of the gain, one search each: 1 for hope, -1 for fear
  size_t beam;                // pops per node; 0: everything
  size_t candidates;          // strings of each search, the best by model and unclipped gain
  bool by_length;             // derivations of different length do not recombine
  uint32_t source_words;      // of a whole derivation; 0: unknown, nothing is prorated
};

// What the searches found, each derivation once, and first of all the model's best one; `rows` are
// the exact (clipped) statistics of their strings.
struct OracleCandidates {
  std::vector<Derivation> derivations;  // of the forest; scores are the model's
  std::vector<int32_t> rows;
};

// `number` gives the references' number of a word of the forest's vocabulary.
OracleCandidates oracle_candidates(const Forest& forest, Scores scores, Roots roots,
                                   const BleuReferences& references, size_t sentence,
                                   const NgramGain& gain,
                                   const std::function<uint32_t(int32_t)>& number,
                                   const OracleOptions& options);

}  // namespace hopefear
