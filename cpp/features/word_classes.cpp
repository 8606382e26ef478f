#include "features/word_classes.hpp"

namespace hopefear::features {
namespace {

// The first code point and its size in bytes; a byte that is not UTF-8 counts as a code point.
struct Point {
  uint32_t value = 0;
  size_t size = 1;
};

Point front(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (lead < 0xc0 || size > text.size()) return {lead, 1};
  uint32_t value = lead & (0xffU >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {lead, 1};
    value = value << 6 | (byte(i) & 0x3f);
  }
  return {value, size};
}

bool is_digit(uint32_t c) { return (c >= '0' && c <= '9') || (c >= 0xff10 && c <= 0xff19); }

bool is_letter(uint32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= 0xff21 && c <= 0xff3a) ||
         (c >= 0xff41 && c <= 0xff5a);
}

bool is_punctuation(uint32_t c) {
  if (c < 0x80) return c > 0x20 && c != 0x7f && !is_digit(c) && !is_letter(c);
  return (c >= 0xa1 && c <= 0xbf) || (c >= 0x2000 && c <= 0x206f) || (c >= 0x3000 && c <= 0x303f) ||
         (c >= 0xff01 && c <= 0xff65 && !is_digit(c) && !is_letter(c));
}

}  // namespace

std::string_view first_character(std::string_view word) {
  return word.substr(0, word.empty() ? 0 : front(word).size);
}

std::string_view last_character(std::string_view word) {
  size_t begin = word.size();
  while (begin > 0) {
    --begin;
    if ((static_cast<unsigned char>(word[begin]) & 0xc0) != 0x80) break;
  }
  return word.substr(begin);
}

std::string_view word_type(std::string_view word) {
  bool digits = false, letters = false, punctuation = false;
  while (!word.empty()) {
    const Point point = front(word);
    word.remove_prefix(point.size);
    if (is_digit(point.value)) {
      digits = true;
    } else if (is_letter(point.value)) {
      letters = true;
    } else if (is_punctuation(point.value)) {
      punctuation = true;
    } else {
      return "other";
    }
  }
  // A number may have points and commas, a word hyphens; with both digits and letters it is other.
  if (digits) return letters ? "other" : "digits";
  if (letters) return "letters";
  return punctuation ? "punctuation" : "other";
}

}  // namespace hopefear::features
