// Words or pairs of words that a template tells apart, by hash: which a list of the model has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "base/probing_table.hpp"
#include "features/options.hpp"

namespace hopefear::features {

inline constexpr std::string_view kOther = "<unk>";  // the bin of everything that is on no list

// Read-only after the adding. 64-bit hashes stand for the words, as everywhere with features.
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
