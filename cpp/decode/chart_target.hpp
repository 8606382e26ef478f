// The second parse of constrained decoding: the target, with the forest of the first parse as its
// grammar. [dyer2010]
#pragma once

#include <span>

#include "forest/forest.hpp"

namespace hopefear::decode {

// The derivations of the goal that yield exactly `target` (numbers of the forest's vocabulary): a
// forest whose nodes are those of `forest` split by the target span that they cover. It has no goal
// if there is no such derivation.
//
// The spans of a node are found from left to right through each edge's target side, so the work
// grows with the number of matches and not with the product of the tails' spans.
Forest derivations_of(const Forest& forest, std::span<const int32_t> target);

}  // namespace hopefear::decode
