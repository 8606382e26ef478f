// Numbers words 0, 1, 2, … in the order of insertion. A word is any sequence of bytes. For one
// thread at a time; threads share a Vocabulary (base/vocabulary.hpp).
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/probing_table.hpp"

namespace hopefear {

class WordNumbers {
 public:
  static constexpr uint32_t kNone = NumberTable::kNone;
  static constexpr uint32_t kMost =
      (uint32_t{1} << 31) - 1;  // words; the top bit is free for flags

  // The word's number; a new word gets the next one. InputError beyond kMost words.
  uint32_t add(std::string_view word);
  void add(const WordNumbers& others) {
    for (uint32_t id = 0; id < others.size(); ++id) add(others.word(id));
  }
  uint32_t find(std::string_view word) const;  // kNone if unknown
  // The word of a number. Its bytes do not move until clear(); while one thread adds words, others
  // may look up numbers they have.
  std::string_view word(uint32_t id) const {
    const size_t block = block_of(id);
    const Word& word = words_[block][id - begin_of(block)];
    return {word.data, word.size};
  }
  size_t size() const { return numbers_.size(); }
  size_t bytes() const;  // memory held
  void clear();          // keeps most of the memory

 private:
  // Words are in blocks of 64, 64, 128, 256, …: number n is in block width(n / 64), which begins
  // with the number 0 or 64 * 2^(block - 1). Blocks never move.
  struct Word {
    const char* data;
    size_t size;
  };
  static constexpr uint32_t kFirstBlock = 64;
  static size_t block_of(uint32_t id) {
    return static_cast<size_t>(std::bit_width(id / kFirstBlock));
  }
  static uint32_t begin_of(size_t block) { return block == 0 ? 0 : kFirstBlock << (block - 1); }
  Word keep(std::string_view word);

  NumberTable numbers_;
  std::array<std::unique_ptr<Word[]>, 26> words_;
  std::vector<std::unique_ptr<char[]>> text_;  // the words' bytes; the last block is being filled
  char* free_ = nullptr;
  size_t left_ = 0, last_size_ = 0;  // bytes of the last block: unused, in total
  size_t text_bytes_ = 0;            // of all blocks
};

}  // namespace hopefear
