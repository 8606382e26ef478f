// The hash table of the language model's binary file: n-grams and vocabulary alike.
//
// Open addressing in *sorted* order: the home of a key is monotone in the key, and the slots are
// kept sorted by key (descending; 0 is an empty slot). So a search stops at the first slot that is
// not greater, found or not, and a failed search (every back-off is one) costs as little as a
// successful one: about 2.5 neighbouring slots at a load of 3/4, compared with 8.5 for ordinary
// linear probing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace hopefear::lm {

inline uint64_t multiply_high(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
}

// Zeroed memory whose pages are allocated on first access: a header that promises too many n-grams
// costs address space, not memory.
template <typename T>
class ZeroedArray {
 public:
  ZeroedArray() = default;
  explicit ZeroedArray(size_t size) : size_(size) {
    data_ = static_cast<T*>(std::calloc(std::max<size_t>(size, 1), sizeof(T)));
    if (data_ == nullptr) throw std::bad_alloc();
  }
  ~ZeroedArray() { std::free(data_); }
  ZeroedArray(ZeroedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  ZeroedArray& operator=(ZeroedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  void grow(size_t size) {  // keeps the content
    ZeroedArray larger(size);
    std::memcpy(static_cast<void*>(larger.data_), data_, std::min(size, size_) * sizeof(T));
    *this = std::move(larger);
  }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

// A read-only view of a table for queries; the slots are owned by a mapped file or a builder.
// `Slot` has a uint64_t key, well mixed and never 0.
//
// Memory-safe for any content of the slots: a search examines `reach` (at least 3) slots from a
// home below `homes`; the creator of the view must ensure homes + reach slots.
constexpr uint64_t kLeastReach = 3;

template <typename Slot>
struct TableView {
  const Slot* slots = nullptr;
  uint64_t homes = 0;
  uint64_t reach = 0;  // no key is farther from its home than this, minus one

  const Slot* home(uint64_t key) const { return slots + multiply_high(~key, homes); }
  const Slot* find(uint64_t key) const {
    const Slot* slot = home(key);
    const Slot* const end = slot + reach;
    // The first two steps without a branch, which could not be predicted: a fifth faster.
    slot += unsigned{slot[0].key > key} + unsigned{slot[1].key > key};
    while (slot->key > key) {
      if (++slot == end) return nullptr;
    }
    return slot->key == key ? slot : nullptr;
  }
};

// Builds such a table. Pointers into it are valid until the next insert.
template <typename Slot>
class TableBuilder {
 public:
  TableBuilder() : TableBuilder(0) {}
  explicit TableBuilder(uint64_t expected)
      : homes_(expected + expected / 3 + 1), slots_(homes_ + kTail) {}  // load 3/4

  uint64_t size() const { return size_; }
  uint64_t capacity() const { return slots_.size(); }
  Slot* slots() { return slots_.data(); }
  const Slot* home(uint64_t key) const { return slots_.data() + multiply_high(~key, homes_); }

  Slot* find(uint64_t key) {  // the last slot is always empty
    Slot* slot = const_cast<Slot*>(home(key));
    while (slot->key > key) ++slot;
    return slot->key == key ? slot : nullptr;
  }

  // The slot of `key`; `second` is true if it is new (then only its key is set).
  std::pair<Slot*, bool> insert(uint64_t key) {
    if (size_ >= homes_ - homes_ / 8) rebuild(homes_ + homes_ / 2 + 16);
    while (true) {
      Slot* slot = const_cast<Slot*>(home(key));
      while (slot->key > key) ++slot;
      if (slot->key == key) return {slot, false};
      Slot* free = slot;
      while (free->key != 0) ++free;
      if (free == slots_.data() + slots_.size() - 1) {
        rebuild(homes_ + homes_ / 4 + 16);
        continue;
      }
      std::memmove(static_cast<void*>(slot + 1), slot,
                   static_cast<size_t>(free - slot) * sizeof(Slot));
      *slot = Slot{};
      slot->key = key;
      ++size_;
      return {slot, true};
    }
  }

  // The view for queries; the builder keeps the slots. O(slots).
  TableView<Slot> view() {
    uint64_t reach = kLeastReach;
    for (uint64_t i = 0; i < slots_.size(); ++i) {
      const uint64_t key = slots_[i].key;
      if (key != 0) reach = std::max(reach, i - multiply_high(~key, homes_) + 1);
    }
    if (homes_ + reach > slots_.size()) slots_.grow(homes_ + reach);
    return {slots_.data(), homes_, reach};
  }

 private:
  static constexpr uint64_t kTail = 1024;

  void rebuild(uint64_t homes) {
    TableBuilder larger;
    larger.homes_ = homes;
    larger.slots_ = ZeroedArray<Slot>(homes + kTail + slots_.size() / 64);
    for (uint64_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].key != 0) *larger.insert(slots_[i].key).first = slots_[i];
    }
    *this = std::move(larger);
  }

  uint64_t homes_;
  ZeroedArray<Slot> slots_;
  uint64_t size_ = 0;
};

}  // namespace hopefear::lm
