#include "base/prefix_hash.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/hash.hpp"

namespace hopefear {

PrefixHash::PrefixHash(std::string prefix) : prefix_(std::move(prefix)) {
  for (size_t at = 0; at + 8 <= prefix_.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, prefix_.data() + at, 8);
    mixed_.push_back(mix64(word));
  }
}

uint64_t PrefixHash::hash(std::string_view tail) const {
  uint64_t h = detail::hash_start(prefix_.size() + tail.size());
  for (const uint64_t mixed : mixed_) h = detail::hash_step(h, mixed);
  // The word that the last bytes of the prefix share with the first of the tail.
  const size_t rest = prefix_.size() % 8;
  if (rest > 0) {
    std::array<char, 8> shared{};
    const size_t taken = std::min(8 - rest, tail.size());
    std::memcpy(shared.data(), prefix_.data() + prefix_.size() - rest, rest);
    std::memcpy(shared.data() + rest, tail.data(), taken);
    h = detail::hash_words(h, shared.data(), rest + taken);
    tail.remove_prefix(taken);
  }
  return mix64(detail::hash_words(h, tail.data(), tail.size()));
}

}  // namespace hopefear
