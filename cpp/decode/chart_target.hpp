// The second parse of constrained decoding: the target, with the forest of the first parse as its
// grammar. [dyer2010]
#pragma once

#include <span>

#include "forest/forest.hpp"

namespace hopefear::decode {

// The derivations of the goal that yield `target` (numbers of the forest's vocabulary) and nothing
// else: a forest whose nodes are those of `forest`, split by what they cover of the target. Without
// any derivation it has no goal.
//
// A node's spans are found from the left to the right of each edge's target side, so the work grows
// with what matches and not with the product of the tails' spans.
Forest derivations_of(const Forest& forest, std::span<const int32_t> target);

}  // namespace hopefear::decode
