// Words and their numbers: one class to collect them, one to look them up in a mapped file.
//
// The order of words is that of their bytes followed by a blank. A phrase is written as its words
// with a blank behind each and then "|||", so comparing phrases number by number, with the end
// of the phrase in the place of "|||", is comparing the lines of a text table byte by byte.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/binary_file.hpp"

namespace hopefear::rules {

using Word = uint32_t;
inline constexpr Word kNoWord = 0xffffffff;
inline constexpr std::string_view kBlanks = " \t\r\v\f";

// Whether "a " sorts before "b " by bytes.
bool word_less(std::string_view a, std::string_view b);

// Gives words numbers in the order in which they come. One thread at a time adds.
class WordCollector {
 public:
  Word add(std::string_view word);
  void clear();                            // keeps the memory
  Word find(std::string_view word) const;  // kNoWord if it was never added
  std::string_view word(Word id) const {
    return std::string_view(text_).substr(offsets_[id], offsets_[id + 1] - offsets_[id]);
  }
  size_t size() const { return offsets_.size() - 1; }
  uint64_t bytes() const;            // memory held
  std::vector<Word> sorted() const;  // all numbers, in the order of words; O(n log n)

 private:
  size_t slot_of(std::string_view word) const;
  void grow();
  std::vector<Word> slots_;  // a power of two, at most half full
  std::string text_;
  std::vector<uint64_t> offsets_ = {0};
};

// The collected words in their order: the number of each in a table, and each by that number. The
// views point into the collector.
struct WordOrder {
  explicit WordOrder(const WordCollector& collected);
  std::vector<Word> number;             // by the collector's number
  std::vector<std::string_view> words;  // by table number
};

// The words of a table in their order; a word's number is its place. Points into a mapped file.
class WordList {
 public:
  WordList() = default;
  WordList(const BinaryFile& file, const std::string& section);
  size_t size() const { return offsets_.empty() ? 0 : offsets_.size() - 1; }
  // Empty if there is no such number or the file is damaged there.
  std::string_view word(Word id) const;
  Word find(std::string_view word) const;  // O(log n); kNoWord if absent

 private:
  std::span<const uint64_t> offsets_;
  std::span<const char> text_;
};

// Writes the sections NAME.at and NAME.text that WordList reads.
void write_words(BinaryWriter& writer, const std::string& section,
                 std::span<const std::string_view> words);

}  // namespace hopefear::rules
