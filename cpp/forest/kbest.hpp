// The k best derivations, lazily [huang2005, algorithm 3].
#pragma once

#include <cstdint>
#include <vector>

#include "forest/inference.hpp"

namespace hopefear {

struct KBestResult {
  std::vector<Derivation> derivations;  // best first
  bool complete = true;                 // false: `limit` ended the search early
};

// With `distinct`, only the best of a node's derivations with the same target string is kept, at
// every node: strings are merged where they arise and not only at the roots, so spurious ambiguity
// does not multiply. This is exact, because a derivation's string depends on its parts only through
// their strings.
//
// Ties: the smaller first edge wins, then the better ranks of the first tail, of the second …;
// between roots the smaller node. `limit` bounds the number of derivations examined at all nodes;
// if it is reached the list is correct but shorter than k.
//
// O(E) for the best derivations, then O(log(degree) + arity^2) for each derivation examined.
// No recursion, so the depth of a forest is not limited.
KBestResult kbest(const Forest& forest, Scores scores, Roots roots, size_t k, bool distinct,
                  uint64_t limit);

// Two 61-bit polynomial hashes of a word sequence that can be concatenated in O(1). Among n strings
// of up to L words the probability of a collision is below n^2 L / 2^121.
struct TextHash {
  uint64_t value[2] = {0, 0};
  uint64_t power[2] = {1, 1};  // base ^ length
  void append(const TextHash& other);
  void append(int32_t word);
  bool operator==(const TextHash& o) const {
    return value[0] == o.value[0] && value[1] == o.value[1] && power[0] == o.power[0];
  }
};

}  // namespace hopefear
