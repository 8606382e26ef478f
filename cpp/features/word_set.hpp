// Words or pairs of words that a template tells apart, by hash: which a list of the model has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "features/options.hpp"

namespace hopefear::features {

inline constexpr std::string_view kOther = "<unk>";  // the bin of everything that is on no list

// Read-only after the adding. 64-bit hashes stand for the words, as everywhere with features.
class WordSet {
 public:
  void add(std::string_view word) { add(hash64(word)); }
  void add(std::string_view first, std::string_view second) { add(key(first, second)); }
  bool has(std::string_view word) const { return find(hash64(word)); }
  bool has(std::string_view first, std::string_view second) const {
    return find(key(first, second));
  }

 private:
  static uint64_t key(std::string_view first, std::string_view second) {
    return combine64(hash64(first), hash64(second));
  }
  void add(uint64_t hash) {
    if (find(hash)) return;
    if (4 * (size_ + 1) > slots_.size()) {
      std::vector<uint64_t> old(slots_.empty() ? 16 : 2 * slots_.size());
      old.swap(slots_);
      for (const uint64_t each : old) {
        if (each != 0) place(each);
      }
    }
    place(hash == 0 ? 1 : hash);
    ++size_;
  }
  void place(uint64_t hash) {
    size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = hash;
  }
  bool find(uint64_t hash) const {
    if (slots_.empty()) return false;
    if (hash == 0) hash = 1;
    for (size_t slot = hash & (slots_.size() - 1); slots_[slot] != 0;
         slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot] == hash) return true;
    }
    return false;
  }
  std::vector<uint64_t> slots_;  // 0 for empty; a power of two, at most a quarter full
  size_t size_ = 0;
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
