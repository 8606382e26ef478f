// Splits derivations by the part of a given string that they yield.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forest/expand.hpp"

namespace hopefear {

// The state is the first occurrence (begin, length) of a derivation's string in the target. A
// derivation whose string does not occur there is forbidden, or with `others` has the state
// kElsewhere. Adds nothing to scores.
//
// A string is a prefix of the target if and only if its first occurrence begins at 0.
class StringScorer : public EdgeScorer {
 public:
  struct Place {
    uint32_t begin, length;
    bool operator==(const Place&) const = default;
  };
  static constexpr Place kElsewhere = {0xffffffff, 0};

  // `target`: word numbers of the forest's vocabulary, -1 for a word that is not in it.
  StringScorer(const Forest& forest, std::span<const int32_t> target, bool others);

  size_t state_size() const override { return sizeof(Place); }
  double score(uint32_t edge, std::span<const std::byte* const> tails, std::byte* state) override;
  double estimate(uint32_t) override { return 0; }

  static Place place(const std::byte* state);

 private:
  // A suffix automaton of the target: deterministic, every substring is one path.
  struct Link {
    int32_t word;
    uint32_t to;
  };
  void build();
  uint32_t step(uint32_t from, int32_t word) const;  // 0: no such substring (0 is the start)

  const Forest forest_;
  const std::vector<int32_t> target_;
  const bool others_;
  std::vector<uint32_t> end_;         // per state: where its strings first end
  std::vector<Link> links_;           // by state and word
  std::vector<uint32_t> first_link_;  // of each state
};

}  // namespace hopefear
