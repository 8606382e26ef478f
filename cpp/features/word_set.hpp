// A set of the words or word pairs that a template distinguishes: those on a list of the model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "base/probing_table.hpp"
#include "features/options.hpp"

namespace hopefear::features {

inline constexpr std::string_view kOther = "<unk>";  // replaces words that are on no list

// Read-only after construction. Words are represented by 64-bit hashes, like features.
class WordSet {
 public:
  void add(std::string_view word) { hashes_.add(hash64(word)); }
  void add(std::string_view first, std::string_view second) { hashes_.add(key(first, second)); }
  bool has(std::string_view word) const { return hashes_.has(hash64(word)); }
  bool has(std::string_view first, std::string_view second) const {
    return hashes_.has(key(first, second));
  }

 private:
  static uint64_t key(std::string_view first, std::string_view second) {
    return combine64(hash64(first), hash64(second));
  }
  KeySet hashes_;
};

template <>
struct OptionType<WordSet> {
  using Words = std::vector<std::string>;
  static std::string name() { return OptionType<Words>::name(); }
  static bool read(OptionValue& from, WordSet& to) {
    Words words;
    if (!OptionType<Words>::read(from, words)) return false;
    for (const std::string& word : words) to.add(word);
    return true;
  }
};

}  // namespace hopefear::features
