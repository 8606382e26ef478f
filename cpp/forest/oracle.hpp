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
  double model;               // factor of the model's score
  std::vector<double> signs;  // factors of the gain, one search each: 1 for hope, -1 for fear
  size_t beam;                // pops per node; 0: no limit
  size_t candidates;          // number of strings per search, the best by model and unclipped gain
  bool by_length;             // derivations of different length do not recombine
  uint32_t source_words;      // of a complete derivation; 0: unknown, nothing is prorated
};

// The results of all searches: each derivation once, the model's best one first; `rows` are the
// exact (clipped) statistics of their strings.
struct OracleCandidates {
  std::vector<Derivation> derivations;  // of the forest; scores are the model's
  std::vector<int32_t> rows;
};

// `number` maps a word number of the forest's vocabulary to that of the references.
OracleCandidates oracle_candidates(const Forest& forest, Scores scores, Roots roots,
                                   const BleuReferences& references, size_t sentence,
                                   const NgramGain& gain,
                                   const std::function<uint32_t(int32_t)>& number,
                                   const OracleOptions& options);

}  // namespace hopefear
