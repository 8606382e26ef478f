#include "base/feature_name.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/error.hpp"

namespace hopefear {
namespace {

// Whether all of eight bytes are printable ASCII.
bool are_plain(uint64_t eight) {
  constexpr uint64_t kOnes = 0x0101010101010101ULL, kHighs = 0x8080808080808080ULL;
  const uint64_t deletes = eight ^ (kOnes * 0x7f);  // 0 where the byte is 0x7f
  return (((eight - kOnes * 0x20) | eight | (deletes - kOnes)) & kHighs) == 0;
}

// The number of bytes at the front that are allowed in names.
size_t good_size(std::string_view name) {
  size_t at = 0;
  while (at < name.size()) {
    uint64_t eight = 0x2020202020202020ULL;  // blanks after the end
    const size_t left = std::min(name.size() - at, sizeof(eight));
    std::memcpy(&eight, name.data() + at, left);
    if (are_plain(eight)) {  // most names are ASCII
      at += left;
      continue;
    }
    const size_t size = printable_sequence(name.substr(at));
    if (size == 0) break;
    at += size;
  }
  return at;
}

}  // namespace

size_t utf8_sequence(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  const auto tail = [&](size_t i, unsigned low, unsigned high) {
    return i < s.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned c = byte(0);
  if (c < 0x80) return 1;
  if (c < 0xc2) return 0;
  if (c < 0xe0) return tail(1, 0x80, 0xbf) ? 2 : 0;
  if (c < 0xf0) {
    const unsigned low = c == 0xe0 ? 0xa0 : 0x80, high = c == 0xed ? 0x9f : 0xbf;
    return tail(1, low, high) && tail(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (c > 0xf4) return 0;
  const unsigned low = c == 0xf0 ? 0x90 : 0x80, high = c == 0xf4 ? 0x8f : 0xbf;
  return tail(1, low, high) && tail(2, 0x80, 0xbf) && tail(3, 0x80, 0xbf) ? 4 : 0;
}

size_t printable_sequence(std::string_view text) {
  const size_t size = utf8_sequence(text);
  const unsigned char first = static_cast<unsigned char>(text[0]);
  if (size == 1) return first >= 0x20 && first != 0x7f ? 1 : 0;
  return size == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0 ? 0 : size;
}

bool is_feature_name(std::string_view name) {
  return !name.empty() && good_size(name) == name.size();
}

void check_feature_name(std::string_view name) {
  if (is_feature_name(name)) return;
  throw InputError("feature name " + shown(name) +
                   " is not valid, expected UTF-8 without tabs, line ends and control characters; "
                   "rename the feature");
}

std::string as_feature_name(std::string_view name) {
  std::string result;
  while (true) {
    const size_t size = good_size(name);
    result += name.substr(0, size);
    if (size == name.size()) return result;
    result += '?';
    name.remove_prefix(size + 1);
  }
}

}  // namespace hopefear
