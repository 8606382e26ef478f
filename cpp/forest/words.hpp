// The words of a forest under other numbers: those of a language model, of references …
#pragma once

#include <cstdint>
#include <vector>

#include "base/id_numbers.hpp"
#include "forest/forest.hpp"

namespace hopefear {

// For each place of the forest's target arrays number(word), 0 for a slot. A forest has few
// different words in many places, and its vocabulary may be much larger: number() is called once
// per word that occurs.
template <typename Number>
std::vector<uint32_t> numbered_target(const Forest& forest, Number&& number) {
  const ForestView& a = forest.arrays();
  std::vector<uint32_t> result(a.target.size(), 0);
  IdNumbers known;
  for (size_t i = 0; i < a.target.size(); ++i) {
    if (a.target[i] < 0) continue;
    const auto [found, is_new] = known.try_emplace(static_cast<uint64_t>(a.target[i]) + 1, 0);
    if (is_new) found = number(a.target[i]);
    result[i] = found;
  }
  return result;
}

}  // namespace hopefear
