// Sets of covered source words, each stored once per sentence and identified by a number.
// Properties of a set (its first gap, the future cost of the uncovered words) are computed when it
// is first seen; a hypothesis stores four bytes, regardless of the sentence length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/probing_table.hpp"
#include "decode/span_table.hpp"

namespace hopefear::decode {

class CoverageTable {
 public:
  static constexpr uint32_t kNothing = 0;  // the empty set

  // `spans` must outlive the table; null: future costs are 0.
  CoverageTable(int32_t length, const SpanTable* spans);

  uint32_t extend(uint32_t set, int32_t begin, int32_t end);  // [begin, end) must be uncovered
  uint32_t size() const { return static_cast<uint32_t>(info_.size()); }

  bool covered(uint32_t set, int32_t word) const {
    return (bits(set)[static_cast<size_t>(word) / 64] >> (word % 64) & 1) != 0;
  }
  int32_t count(uint32_t set) const { return info_[set].count; }
  int32_t first_gap(uint32_t set) const { return info_[set].first_gap; }
  int32_t end(uint32_t set) const { return info_[set].end; }   // no word from here on is covered
  double rest(uint32_t set) const { return info_[set].rest; }  // future cost of the uncovered words
  // The end of the gap that contains the uncovered `word`.
  int32_t gap_end(uint32_t set, int32_t word) const {
    if (word >= info_[set].end) return length_;
    while (!covered(set, word)) ++word;  // ends before info.end, whose last word is covered
    return word;
  }
  std::span<const uint64_t> words(uint32_t set) const { return {bits(set), width_}; }

 private:
  struct Info {
    uint64_t hash;
    double rest;
    int32_t count, first_gap, end;
  };
  const uint64_t* bits(uint32_t set) const { return bits_.data() + size_t{set} * width_; }
  void complete(uint32_t set);
  const SpanTable* spans_;
  int32_t length_;
  size_t width_;  // 64-bit words of a set
  std::vector<uint64_t> bits_;
  std::vector<Info> info_;
  NumberTable numbers_;
};

}  // namespace hopefear::decode
