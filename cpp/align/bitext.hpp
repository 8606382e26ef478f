// Sentence pairs as numbers. Words are separated by blanks and are bytes otherwise: nothing here
// looks at an encoding, so that text that is not UTF-8 is aligned like any other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io.hpp"

namespace hopefear::align {

inline constexpr std::string_view kBlanks = " \t\r\v\f";

// Words and their numbers, both ways. Adding keeps numbers; views are valid until the next add().
class Vocabulary {
 public:
  static constexpr uint32_t kUnknown = UINT32_MAX;

  uint32_t add(std::string_view word);         // the word's number, a new one if it has none
  uint32_t find(std::string_view word) const;  // kUnknown if it has none
  std::string_view word(uint32_t id) const {
    return std::string_view(text_).substr(begin_[id], begin_[id + 1] - begin_[id]);
  }
  size_t size() const { return begin_.size() - 1; }

  // The flat form, for files: all words one after the other, and where each begins (size() + 1).
  const std::string& text() const { return text_; }
  const std::vector<uint64_t>& begins() const { return begin_; }

 private:
  void grow();
  std::string text_;
  std::vector<uint64_t> begin_ = {0};
  std::vector<uint32_t> slots_;  // open addressing, a power of two; kUnknown is free
};

enum class Skip : uint8_t { empty_source, empty_target, empty_both, long_source, long_target };

struct SkippedLine {
  uint64_t line;  // from 1
  Skip reason;
};

// What to do with lines that cannot be aligned.
struct ReadOptions {
  size_t max_length;  // words of a sentence
  bool refuse_empty;
  bool refuse_long;
};

// The pairs that were kept, in order. Word numbers go by falling frequency (then by first
// occurrence): frequent words lie together in every table, which the caches like.
struct Bitext {
  Vocabulary source, target;
  std::vector<uint32_t> source_words, target_words;
  std::vector<uint64_t> source_begin = {0}, target_begin = {0};  // size() + 1
  std::vector<uint64_t> lines;                                   // of each pair, from 1
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

// Reads two files line by line. Throws InputError if their numbers of lines differ or a line is
// refused.
Bitext read_bitext(ByteSource& source, ByteSource& target, const ReadOptions& options);

}  // namespace hopefear::align
