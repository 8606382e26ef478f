// The words of a table, numbered in the order of their bytes and looked up in a mapped file.
//
// The order of words is that of their bytes followed by a blank. In a text table each word of a
// phrase is followed by a blank, and the phrase by "|||". So comparing phrases number by number,
// with "|||" as the end of a phrase, is the same as comparing lines byte by byte.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/binary_file.hpp"
#include "base/word_numbers.hpp"

namespace hopefear::rules {

using Word = uint32_t;
inline constexpr Word kNoWord = WordNumbers::kNone;
inline constexpr std::string_view kBlanks = " \t\r\v\f";

// Whether "a " sorts before "b " by bytes.
bool word_less(std::string_view a, std::string_view b);

std::vector<Word> sorted(
    const WordNumbers& words);  // all numbers, in the order of words; O(n log n)

// The order of collected words: the table number of each word, and the words by table number. The
// views point into the collector.
struct WordOrder {
  explicit WordOrder(const WordNumbers& collected);
  std::vector<Word> number;             // by the collector's number
  std::vector<std::string_view> words;  // by table number
};

// The words of a table in their order, which is their numbering. A view of a mapped file.
class WordList {
 public:
  WordList() = default;
  WordList(const BinaryFile& file, const std::string& section);
  size_t size() const { return offsets_.empty() ? 0 : offsets_.size() - 1; }
  // Empty if the number is out of range or the file is damaged there.
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
