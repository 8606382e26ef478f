// Words or pairs of words that a template tells apart, by hash: which a list of the model has.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/probing_table.hpp"

namespace hopefear::features {

inline constexpr std::string_view kOther = "<unk>";  // the bin of everything that is on no list

// Read-only after the adding. 64-bit hashes stand for the words, as everywhere with features.
class WordSet {
 public:
  WordSet() = default;
  explicit WordSet(std::span<const std::string> words) {
    for (const std::string& word : words) add(word);
  }
  explicit WordSet(std::span<const std::pair<std::string, std::string>> pairs) {
    for (const auto& [first, second] : pairs) hashes_.add(key(first, second));
  }

  void add(std::string_view word) { hashes_.add(hash64(word)); }
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

}  // namespace hopefear::features
