// The units of a line: words (separated by white space), characters (code points except white
// space), or spaced characters (those of the words, joined by one blank each). White space is that
// of Python's str.split(), including Unicode blanks, so that counts agree with tools that split in
// Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hopefear {

enum class TextUnit : uint8_t { word, character, spaced_character };

// Bytes of the white space character that begins at `at`, 0 if there is none. UTF-8.
inline size_t blank_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(at);
  if (first < 0x80)
    return (first == 0x20 || (first >= 9 && first <= 13) || (first >= 0x1c && first <= 0x1f)) ? 1
                                                                                              : 0;
  if (first == 0xc2) return byte(at + 1) == 0x85 || byte(at + 1) == 0xa0 ? 2 : 0;
  if (first < 0xe1 || first > 0xe3 || at + 3 > text.size()) return 0;
  const unsigned point = (first & 0xf) << 12 | (byte(at + 1) & 0x3f) << 6 | (byte(at + 2) & 0x3f);
  const bool blank = point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x2028 ||
                     point == 0x2029 || point == 0x202f || point == 0x205f || point == 0x3000;
  return blank ? 3 : 0;
}

// Bytes of the UTF-8 character that begins with `first`.
inline size_t character_size(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

// Calls f(std::string_view) for every unit of a line of valid UTF-8.
template <typename F>
void for_each_unit(std::string_view line, TextUnit unit, F&& f) {
  bool blank_before = false;  // of spaced characters: white space after the first of them
  bool started = false;
  size_t begin = 0;  // of the current word
  size_t i = 0;
  while (i < line.size()) {
    if (unit == TextUnit::word && static_cast<unsigned char>(line[i]) > 0x20 &&
        static_cast<unsigned char>(line[i]) < 0x80) {
      ++i;
      continue;
    }
    const size_t blank = blank_at(line, i);
    if (unit != TextUnit::word) {
      const size_t size = blank != 0 ? blank : character_size(line[i]);
      if (blank == 0) {
        if (blank_before && unit == TextUnit::spaced_character) f(std::string_view(" "));
        f(line.substr(i, size));
        started = true;
      }
      blank_before = blank != 0 && started;
      i += size;
    } else if (blank == 0) {
      i += character_size(line[i]);
    } else {
      if (i > begin) f(line.substr(begin, i - begin));
      i += blank;
      begin = i;
    }
  }
  if (unit == TextUnit::word && line.size() > begin) f(line.substr(begin));
}

}  // namespace hopefear
