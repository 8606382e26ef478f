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

}  // namespace hopefear
