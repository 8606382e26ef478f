// The engine's hash table: linear probing in one array of slots, whose number is a power of two.
//
// Three forms: ProbingTable for slots of any kind, ProbingMap for 64-bit keys and values,
// NumberTable for items that are stored elsewhere and numbered in order of insertion. The caller
// gives the hash; its low bits choose the slot, so they must be well mixed. The order of the slots
// depends on the history of the table: no output may depend on it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hopefear {

// A default-constructed Slot is empty. It has `bool empty() const` and `uint64_t hash() const`. At
// most kEighths eighths of the slots are in use. References are valid until the next insert.
template <typename Slot, size_t kEighths = 4>
class ProbingTable {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

  // The slot for which same(slot) is true, null if there is none.
  template <typename Same>
  const Slot* find(uint64_t hash, Same&& same) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[probe(hash, same)];
    return slot.empty() ? nullptr : &slot;
  }
  // The slot for which same(slot) is true, or an empty one (then .second is true), which the caller
  // must fill before the next call.
  template <typename Same>
  std::pair<Slot&, bool> insert(uint64_t hash, Same&& same) {
    if (slots_.empty()) rebuild(kLeastSlots);
    size_t at = probe(hash, same);
    if (!slots_[at].empty()) return {slots_[at], false};
    if (8 * (size_ + 1) > kEighths * slots_.size()) {
      // Small tables (of a sentence or a node) are frequent: they reach their size in fewer steps.
      rebuild((slots_.size() < kSmall ? 4 : 2) * slots_.size());
      at = probe(hash, [](const Slot&) { return false; });
    }
    ++size_;
    return {slots_[at], true};
  }
  // The index of a slot in the array. It changes when the table grows.
  size_t place(const Slot& slot) const { return static_cast<size_t>(&slot - slots_.data()); }
  size_t places() const { return slots_.size(); }
  Slot& at(size_t place) { return slots_[place]; }

  template <typename F>
  void for_each(F&& f) const {
    for (const Slot& slot : slots_) {
      if (!slot.empty()) f(slot);
    }
  }
  void reserve(size_t entries) {
    const size_t slots =
        std::max(kLeastSlots, std::bit_ceil((8 * entries + kEighths - 1) / kEighths));
    if (slots > slots_.size()) rebuild(slots);
  }
  // O(current entries), not O(most entries ever): a table with far more slots than needed uses
  // fewer from now on. Keeps the memory.
  void clear() {
    const size_t slots = std::max(kLeastSlots, std::bit_ceil(32 * size_ / kEighths));
    slots_.resize(std::min(slots, slots_.size()));
    std::fill(slots_.begin(), slots_.end(), Slot{});
    size_ = 0;
  }

 private:
  static constexpr size_t kLeastSlots = 64, kSmall = size_t{1} << 14;

  template <typename Same>
  size_t probe(uint64_t hash, Same&& same) const {
    const size_t mask = slots_.size() - 1;
    size_t at = static_cast<size_t>(hash) & mask;
    while (!slots_[at].empty() && !same(slots_[at])) at = (at + 1) & mask;
    return at;
  }
  void rebuild(size_t slots) {
    std::vector<Slot> old(slots);
    old.swap(slots_);
    for (Slot& slot : old) {
      if (slot.empty()) continue;
      slots_[probe(slot.hash(), [](const Slot&) { return false; })] = std::move(slot);
    }
  }
  std::vector<Slot> slots_;
  size_t size_ = 0;
};

// Hash functions of 64-bit keys: AsItIs for keys that are hashes already, Multiplied for keys that
// may come in the order of their low bits.
struct AsItIs {
  uint64_t operator()(uint64_t key) const { return key; }
};
struct Multiplied {
  uint64_t operator()(uint64_t key) const { return (key * 0x9e3779b97f4a7c15ULL) >> 32; }
};

// A map from 64-bit keys other than 0 to values.
template <typename Value, typename Hash = AsItIs, size_t kEighths = 4>
class ProbingMap {
 public:
  size_t size() const { return table_.size(); }
  bool empty() const { return table_.empty(); }
  size_t bytes() const { return table_.bytes(); }
  void reserve(size_t entries) { table_.reserve(entries); }
  void clear() { table_.clear(); }

  const Value* find(uint64_t key) const {
    const Slot* slot = table_.find(Hash()(key), [key](const Slot& s) { return s.key == key; });
    return slot == nullptr ? nullptr : &slot->value;
  }
  // The value of a key and whether it is new; then it is `value`.
  std::pair<Value&, bool> try_emplace(uint64_t key, const Value& value = {}) {
    const auto [slot, is_new] =
        table_.insert(Hash()(key), [key](const Slot& s) { return s.key == key; });
    if (is_new) slot = {key, value};
    return {slot.value, is_new};
  }
  template <typename F>
  void for_each(F&& f) const {  // f(key, value)
    table_.for_each([&](const Slot& slot) { f(slot.key, slot.value); });
  }

 private:
  struct Slot {
    uint64_t key = 0;
    [[no_unique_address]] Value value = {};
    bool empty() const { return key == 0; }
    uint64_t hash() const { return Hash()(key); }
  };
  ProbingTable<Slot, kEighths> table_;
};

// A set of items represented by 64-bit hashes, 16 to 32 bytes each. Among ten million items there
// is a collision with a probability of 3 in a million.
class KeySet {
 public:
  size_t size() const { return keys_.size(); }
  bool add(uint64_t hash) { return keys_.try_emplace(key_of(hash)).second; }  // whether it is new
  bool has(uint64_t hash) const { return keys_.find(key_of(hash)) != nullptr; }
  void clear() { keys_.clear(); }

 private:
  struct Nothing {};
  static uint64_t key_of(uint64_t hash) { return hash == 0 ? 1 : hash; }
  ProbingMap<Nothing> keys_;
};

// Numbers items 0, 1, 2, … in the order of insertion; the caller stores and compares the items. A
// slot keeps 32 bits of the hash, so that few comparisons fail and growing computes no hashes.
class NumberTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  size_t size() const { return table_.size(); }
  size_t bytes() const { return table_.bytes(); }
  void clear() { table_.clear(); }

  // The number for which `same(number)`, kNone if there is none.
  template <typename Same>
  uint32_t find(uint64_t hash, Same&& same) const {
    const Slot* slot = table_.find(hash, matches(hash, same));
    return slot == nullptr ? kNone : slot->number;
  }
  // Like find(), but gives a new item the next number; .second is true for a new item.
  template <typename Same>
  std::pair<uint32_t, bool> insert(uint64_t hash, Same&& same) {
    const auto [slot, is_new] = table_.insert(hash, matches(hash, same));
    if (is_new) slot = {static_cast<uint32_t>(hash), static_cast<uint32_t>(table_.size() - 1)};
    return {slot.number, is_new};
  }

 private:
  struct Slot {
    uint32_t tag = 0, number = kNone;
    bool empty() const { return number == kNone; }
    uint64_t hash() const { return tag; }
  };
  template <typename Same>
  static auto matches(uint64_t hash, Same& same) {
    return [tag = static_cast<uint32_t>(hash), &same](const Slot& slot) {
      return slot.tag == tag && same(slot.number);
    };
  }
  ProbingTable<Slot, 6> table_;
};

}  // namespace hopefear
