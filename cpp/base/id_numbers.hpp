// Small numbers for feature ids: a hash table with linear probing, which is two to three times as
// fast as std::unordered_map where a forest numbers tens of thousands of features.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/sparse_vector.hpp"

namespace hopefear {

class IdNumbers {
 public:
  bool empty() const { return size_ == 0; }
  void clear() {
    slots_.clear();
    size_ = 0;
  }
  void reserve(size_t ids) {
    size_t slots = 64;
    while (slots < 2 * ids) slots *= 2;
    if (slots > slots_.size()) rebuild(slots);
  }
  // The number of an id that is not 0, and whether it is new: then it is `number`.
  std::pair<uint32_t, bool> try_emplace(FeatureId id, uint32_t number) {
    if (2 * (size_ + 1) > slots_.size()) rebuild(slots_.empty() ? 64 : 2 * slots_.size());
    Slot& slot = slots_[find(id)];
    if (slot.id != 0) return {slot.number, false};
    slot = {id, number};
    ++size_;
    return {number, true};
  }

 private:
  struct Slot {
    FeatureId id = 0;  // 0: empty
    uint32_t number = 0;
  };
  // Its slot, or the empty one where it belongs. Ids are hashes, but their low bits decide where
  // they are in other tables, from which they may come in order.
  size_t find(FeatureId id) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = ((id * 0x9e3779b97f4a7c15ULL) >> 32) & mask;
    while (slots_[slot].id != 0 && slots_[slot].id != id) slot = (slot + 1) & mask;
    return slot;
  }
  void rebuild(size_t size) {
    std::vector<Slot> old(size);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.id != 0) slots_[find(slot.id)] = slot;
    }
  }
  std::vector<Slot> slots_;  // a power of two below 2^32, at most half full
  size_t size_ = 0;
};

}  // namespace hopefear
