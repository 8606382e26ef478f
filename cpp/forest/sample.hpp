// Sampling derivations from the distribution that a forest's scores define.
#pragma once

#include <cstdint>
#include <vector>

#include "forest/inference.hpp"

namespace hopefear {

// Draws `count` independent derivations of the roots with p(d) = exp(score) / Z, top down. Sample i
// depends on the seed and i only, so a larger sample begins with the smaller one. Empty if the
// roots have no derivation. O(E) once, then O(size * log degree) each.
std::vector<Derivation> sample(const Forest& forest, Scores scores, Roots roots, size_t count,
                               uint64_t seed);

struct SampledString {
  Derivation best;  // the best of its sampled derivations
  uint32_t count = 0;
};
// The histogram of the strings of such a sample: the most frequent first, ties by the score of
// `best`, then by the first occurrence.
std::vector<SampledString> sample_strings(const Forest& forest, Scores scores, Roots roots,
                                          size_t count, uint64_t seed);

}  // namespace hopefear
