// Sums over derivations: of all that end in the roots, and of those that yield a given string.
// [blunsom2008, eidelman2013]
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id_numbers.hpp"
#include "forest/inference.hpp"

namespace hopefear {

// With p(d) = exp(scale * score(d)) / Z over the derivations of a set. An infinite scale is the
// limit: all probability is that of the best derivation.
struct DerivationSum {
  double best = kNever;     // score of the best derivation
  double log_sum = kNever;  // log(Z) / scale; with a single derivation exactly its score
  double derivations = 0;   // their number
  SparseVector features;    // expectation under p
};

// The sum over the derivations of the roots. O(E + tails + rows).
DerivationSum sum_of(const Forest& forest, Scores scores, Roots roots, double scale);

// Sums over the derivations of single strings. What does not depend on the string is computed once.
class StringSums {
 public:
  // Borrows the scores and the roots.
  StringSums(const Forest& forest, Scores scores, Roots roots);

  // `target`: word numbers of the forest's vocabulary, -1 for a word that is not in it. O(E) to
  // find the edges whose words occur in the target, then the intersection of these with the string.
  // ExpandLimit if it has more than `limit` edges.
  DerivationSum sum(std::span<const int32_t> target, double scale, size_t limit);

 private:
  uint32_t local(int32_t word) const;
  void find_edges(std::span<const int32_t> target);  // sets kept_

  const Forest forest_;
  const Scores scores_;
  const Roots roots_;
  IdNumbers numbers_;              // word + 1 -> local number, from 1
  std::vector<uint32_t> words_;    // per index of the target array: local number, 0 for a slot
  std::vector<uint8_t> occurs_;    // per local number: whether the word is in the string
  std::vector<uint8_t> alive_;     // per node: whether it has a derivation of the kept edges
  std::vector<uint8_t> wanted_;    // per node: whether a derivation of the roots uses it
  std::vector<double> kept_;       // per edge: its score, kNever if the string cannot use it
  std::vector<uint64_t> bigrams_;  // of local numbers in the string, sorted
};

}  // namespace hopefear
