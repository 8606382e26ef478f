// A map from feature ids to small numbers: two to three times as fast as std::unordered_map for the
// tens of thousands of features of a forest.
#pragma once

#include "base/probing_table.hpp"

namespace hopefear {

// Ids are hashes already, but are hashed again: ids read from another table may come in the order
// of their low bits.
using IdNumbers = ProbingMap<uint32_t, Multiplied>;

}  // namespace hopefear
