// The n-grams of a sentence's references, as a trie in a hash table: matching a hypothesis follows
// the trie from each of its positions to the first n-gram that is in no reference.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/probing_table.hpp"

namespace hopefear {

// Words are numbers above 0; 0 is any word that is in no reference.
using WordId = uint32_t;
inline constexpr WordId kNoReferenceWord = 0;

class NgramTable {
 public:
  // Scratch memory of a thread that counts; may be used for any number of tables in turn.
  struct Scratch {
    std::vector<uint32_t> used;     // by slot; all 0 between calls
    std::vector<uint32_t> touched;  // slots that are not 0
  };

  // The n-grams up to `order` of the given sequences; the limit of an n-gram is its largest count
  // in any one of them. 12 bytes a slot, two to four slots for each distinct n-gram.
  NgramTable(std::span<const std::vector<WordId>> sequences, unsigned order);

  // Adds the matches of each order to matches[0 .. order-1]. With `clip` an n-gram matches at most
  // as often as its limit. About one probe per position and matched order.
  void match(std::span<const WordId> words, bool clip, Scratch& scratch, int32_t* matches) const;

  // The trie's edges: the number of the n-gram `ngram` (0: the empty one) extended by a word on the
  // right, 0 if it is in no reference.
  uint32_t longer(uint32_t ngram, WordId word) const {
    if (word == kNoReferenceWord) return 0;
    const Slot* const slot = find(ngram, word);
    return slot == nullptr ? 0 : number(*slot);
  }
  unsigned order() const { return order_; }

 private:
  struct Slot {
    uint32_t parent = 0;  // the number of the n-gram without its last word; 0 for unigrams
    WordId word = 0;
    uint32_t limit = 0;  // 0: empty
    bool empty() const { return limit == 0; }
    uint64_t hash() const { return hash_of(parent, word); }
  };
  static uint64_t hash_of(uint32_t parent, WordId word) {
    return ((uint64_t{parent} << 32 | word) * 0x9e3779b97f4a7c15ULL) >> 32;
  }
  static auto is(uint32_t parent, WordId word) {
    return [=](const Slot& slot) { return slot.word == word && slot.parent == parent; };
  }
  const Slot* find(uint32_t parent, WordId word) const {
    return slots_.find(hash_of(parent, word), is(parent, word));
  }
  // The number of an n-gram is 1 + its slot index, which is fixed since the table does not grow
  // after construction.
  uint32_t number(const Slot& slot) const { return static_cast<uint32_t>(slots_.place(slot)) + 1; }
  void fill(std::span<const std::vector<WordId>> sequences, size_t ngrams);

  unsigned order_;
  ProbingTable<Slot> slots_;
};

}  // namespace hopefear
