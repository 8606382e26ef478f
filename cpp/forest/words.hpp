// Maps the words of a forest to other numbers: those of a language model, of references …
#pragma once

#include <cstdint>
#include <vector>

#include "base/id_numbers.hpp"
#include "forest/forest.hpp"

namespace hopefear {

// number(word) for each index of the forest's target array, 0 for a slot. Calls number() once per
// distinct word that occurs: a forest repeats few words often, and its vocabulary may be much
// larger.
template <typename Number>
std::vector<uint32_t> numbered_target(const Forest& forest, Number&& number) {
  const ForestView& a = forest.arrays();
  std::vector<uint32_t> result(a.target.size(), 0);
  IdNumbers known;
  for (size_t i = 0; i < a.target.size(); ++i) {
    if (a.target[i] < 0) continue;
    const auto [value, is_new] = known.try_emplace(static_cast<uint64_t>(a.target[i]) + 1, 0);
    if (is_new) value = number(a.target[i]);
    result[i] = value;
  }
  return result;
}

}  // namespace hopefear
