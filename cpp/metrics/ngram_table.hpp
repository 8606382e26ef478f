// The n-grams of one sentence's references, as a trie in one open hash table: the matches of a
// hypothesis are walks from its positions that end at the first n-gram no reference has.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hopefear {

// Words are numbers above 0; 0 is a word that no reference has.
using WordId = uint32_t;
inline constexpr WordId kNoReferenceWord = 0;

class NgramTable {
 public:
  // Memory of a thread that counts; any number of tables may use it in turn.
  struct Scratch {
    std::vector<uint32_t> used;     // by slot; all 0 between calls
    std::vector<uint32_t> touched;  // slots that are not
  };

  // The n-grams up to `order` of the given sequences; the limit of an n-gram is its largest count
  // in any one of them. 12 bytes a slot, two to four slots for each distinct n-gram.
  NgramTable(std::span<const std::vector<WordId>> sequences, unsigned order);

  // Adds the matches of each order to matches[0 .. order-1]. With `clip` an n-gram matches at most
  // as often as its limit. About one probe per position and matched order.
  void match(std::span<const WordId> words, bool clip, Scratch& scratch, int32_t* matches) const;

  // The n-grams as a trie: the number of n-gram `ngram` (0: the empty one) with a word more on its
  // right, 0 if no reference has that.
  uint32_t longer(uint32_t ngram, WordId word) const {
    if (word == kNoReferenceWord) return 0;
    const uint32_t at = find(ngram, word);
    return slots_[at].limit == 0 ? 0 : at + 1;
  }
  unsigned order() const { return order_; }

 private:
  struct Slot {
    uint32_t parent = 0;  // 1 + slot of the n-gram without its last word; 0 for unigrams
    WordId word = 0;
    uint32_t limit = 0;  // 0: empty
  };
  // The n-gram's slot, or the empty one where it belongs.
  uint32_t find(uint32_t parent, WordId word) const {
    const uint64_t key = (static_cast<uint64_t>(parent) << 32 | word) * 0x9e3779b97f4a7c15ULL;
    uint32_t at = static_cast<uint32_t>(key >> shift_);
    while (slots_[at].limit != 0 && (slots_[at].word != word || slots_[at].parent != parent)) {
      at = (at + 1) & mask_;
    }
    return at;
  }
  size_t fill(std::span<const std::vector<WordId>> sequences, size_t ngrams);

  unsigned order_;
  unsigned shift_ = 63;
  uint32_t mask_ = 1;
  std::vector<Slot> slots_;
};

}  // namespace hopefear
