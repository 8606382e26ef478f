// Which derivations are the best ones somewhere on lines through weight space: what MERT's line
// search on forests needs, for many lines at once.  [macherey2008, kumar2009]
#pragma once

#include <cstdint>
#include <vector>

#include "forest/inference.hpp"

namespace hopefear {

// Of the derivations of the roots, those that are best at some x with |x| <= reach when edges score
// scores + x * direction.features, for each of the directions. Each derivation once, in the order
// of lines; the first one is the best at x = 0. Of derivations that are equal on a line one is
// found, and one that is best by less than a 10^-10th part may be missed.
//
// The same as Envelope, four times faster where a forest has thousands of edges and a line dozens
// of segments: instead of carrying the envelopes of all nodes along, it looks for the best
// derivation where the lines of two known ones cross (there is another one in between or they are
// neighbours), at several such places in one pass over the edges. O(E + tails) for every eight
// segments or so.
std::vector<Derivation> best_on_lines(const Forest& forest, Scores scores,
                                      std::span<const Weights* const> directions, double reach,
                                      Roots roots);

}  // namespace hopefear
