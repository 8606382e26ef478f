// The training pair whose rules are left out, from Python.
#pragma once

#include <optional>

#include "bind/bind.hpp"
#include "decode/own_rules.hpp"

namespace hopefear::bind {

// `pair`: None, or (target words, number of the pair or -1).
inline std::optional<decode::TrainingPair> training_pair(nb::handle pair) {
  if (pair.is_none()) return std::nullopt;
  const auto part = [&](size_t i) { return nb::object(nb::borrow(pair)[i]); };
  return decode::TrainingPair{strings_of(part(0)), nb::cast<int64_t>(part(1))};
}

}  // namespace hopefear::bind
