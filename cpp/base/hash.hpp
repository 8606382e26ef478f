// Hash functions whose values are part of the file formats: never change them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace hopefear {

// A bijection that spreads every input bit over all output bits.
inline uint64_t mix64(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  return x;
}

// Combines two hashes, order matters.
inline uint64_t combine64(uint64_t a, uint64_t b) {
  return mix64(a * 0x9e3779b97f4a7c15ULL + b + 0x2545f4914f6cdd1dULL);
}

namespace detail {

inline uint64_t hash_start(size_t size) {
  return 0x9ae16a3b2f90404fULL ^ (size * 0xc2b2ae3d27d4eb4fULL);
}
inline uint64_t hash_step(uint64_t h, uint64_t mixed) {
  return (h ^ mixed) * 0x9fb21c651e98df25ULL;
}
inline uint64_t hash_words(uint64_t h, const char* p, size_t n) {
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    h = hash_step(h, mix64(word));
  }
  if (n > 0) {
    uint64_t word = 0;
    std::memcpy(&word, p, n);
    h = hash_step(h, mix64(word));
  }
  return h;
}

}  // namespace detail

// Hash of a string, 8 bytes at a time, little-endian. The id of a feature is hash64(name).
inline uint64_t hash64(std::string_view text) {
  return mix64(detail::hash_words(detail::hash_start(text.size()), text.data(), text.size()));
}

// Checksum of a byte stream, in pieces of any size: the pieces do not matter, only the bytes.
// Four independent lanes, so that a core does about 10 GB/s; not cryptographic.
class Checksum {
 public:
  void update(const void* data, size_t size);
  uint64_t digest() const;

 private:
  void block(const unsigned char* p);  // 32 bytes
  uint64_t lanes_[4] = {1, 2, 3, 4};
  unsigned char pending_[32] = {};
  size_t pending_size_ = 0;
  uint64_t total_ = 0;
};

}  // namespace hopefear
