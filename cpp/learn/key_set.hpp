// Which candidates a pool has: a set of 64-bit hashes, 16 to 32 bytes for each. Among ten million
// two different ones are taken for one with a probability of 3 in a million.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hopefear {

class KeySet {
 public:
  size_t size() const { return size_; }

  // Whether the key, a hash, was not there yet.
  bool add(uint64_t key) {
    if (key == 0) key = 1;  // 0 is an empty slot
    if (2 * (size_ + 1) > slots_.size()) grow();
    uint64_t& slot = slots_[find(key)];
    if (slot == key) return false;
    slot = key;
    ++size_;
    return true;
  }

 private:
  size_t find(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = key & mask;
    while (slots_[slot] != 0 && slots_[slot] != key) slot = (slot + 1) & mask;
    return slot;
  }
  void grow() {
    std::vector<uint64_t> old(slots_.empty() ? 1024 : 2 * slots_.size());
    old.swap(slots_);
    for (const uint64_t key : old) {
      if (key != 0) slots_[find(key)] = key;
    }
  }
  std::vector<uint64_t> slots_;  // a power of two, at most half full
  size_t size_ = 0;
};

}  // namespace hopefear
