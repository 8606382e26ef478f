#include "base/hash.hpp"

#include <algorithm>

namespace hopefear {

void Checksum::block(const unsigned char* p) {
  for (int i = 0; i < 4; ++i) {
    uint64_t word;
    std::memcpy(&word, p + 8 * i, 8);
    uint64_t h = (lanes_[i] ^ word) * 0x9fb21c651e98df25ULL;
    lanes_[i] = h ^ (h >> 29);
  }
}

void Checksum::update(const void* data, size_t size) {
  if (size == 0) return;  // `data` may be null
  const auto* p = static_cast<const unsigned char*>(data);
  total_ += size;
  if (pending_size_ > 0) {
    const size_t take = std::min(size, sizeof(pending_) - pending_size_);
    std::memcpy(pending_ + pending_size_, p, take);
    pending_size_ += take;
    p += take;
    size -= take;
    if (pending_size_ < sizeof(pending_)) return;
    block(pending_);
    pending_size_ = 0;
  }
  for (; size >= sizeof(pending_); size -= sizeof(pending_), p += sizeof(pending_)) block(p);
  if (size > 0) {
    std::memcpy(pending_, p, size);
    pending_size_ = size;
  }
}

uint64_t Checksum::digest() const {
  Checksum last = *this;
  if (last.pending_size_ > 0) {
    std::memset(last.pending_ + last.pending_size_, 0, sizeof(pending_) - last.pending_size_);
    last.block(last.pending_);
  }
  uint64_t h = total_;
  for (const uint64_t lane : last.lanes_) h = combine64(h, lane);
  return h;
}

}  // namespace hopefear
