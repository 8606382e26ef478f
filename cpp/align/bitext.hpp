// A parallel text as word numbers. Words are byte sequences between blanks in any encoding, so text
// that is not UTF-8 can be aligned.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/io.hpp"
#include "base/word_numbers.hpp"

namespace hopefear::align {

inline constexpr std::string_view kBlanks = " \t\r\v\f";

enum class Skip : uint8_t { empty_source, empty_target, empty_both, long_source, long_target };

struct SkippedLine {
  uint64_t line;  // from 1
  Skip reason;
};

// How to treat lines that cannot be aligned.
struct ReadOptions {
  size_t max_length;  // longest sentence, in words
  bool refuse_empty;
  bool refuse_long;
};

// The kept pairs, in order. Words are numbered by descending frequency (then by first occurrence),
// so that frequent words are neighbours in all tables, for the sake of the caches.
struct Bitext {
  WordNumbers source, target;
  std::vector<uint32_t> source_words, target_words;
  std::vector<uint64_t> source_begin = {0}, target_begin = {0};  // size() + 1
  std::vector<uint64_t> lines;                                   // line number of each pair, from 1
  uint64_t total_lines = 0;
  std::vector<SkippedLine> skipped;  // the other lines

  size_t size() const { return lines.size(); }
  std::span<const uint32_t> source_sentence(size_t k) const {
    return {source_words.data() + source_begin[k], source_begin[k + 1] - source_begin[k]};
  }
  std::span<const uint32_t> target_sentence(size_t k) const {
    return {target_words.data() + target_begin[k], target_begin[k + 1] - target_begin[k]};
  }
};

// Reads two files line by line. InputError if their numbers of lines differ or a line is refused.
Bitext read_bitext(ByteSource& source, ByteSource& target, const ReadOptions& options);

}  // namespace hopefear::align
