#include "metrics/ngram_table.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"

namespace hopefear {

NgramTable::NgramTable(std::span<const std::vector<WordId>> sequences, unsigned order)
    : order_(order) {
  size_t bound = 0;
  for (const std::vector<WordId>& words : sequences) bound += words.size() * order;
  if (bound > (size_t{1} << 29)) throw InputError("a reference of over 10^8 words; split it");
  // References share most n-grams: count the distinct ones first, so that the table fits a cache.
  const size_t distinct = fill(sequences, bound);
  if (4 * distinct <= slots_.size()) fill(sequences, distinct);
}

size_t NgramTable::fill(std::span<const std::vector<WordId>> sequences, size_t ngrams) {
  const size_t size = std::bit_ceil(std::max<size_t>(2, 2 * ngrams));
  slots_.assign(size, Slot{});
  mask_ = static_cast<uint32_t>(size - 1);
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(size));
  size_t distinct = 0;
  std::vector<uint32_t> count(size, 0);
  std::vector<uint32_t> touched;
  for (const std::vector<WordId>& words : sequences) {
    for (size_t i = 0; i < words.size(); ++i) {
      uint32_t parent = 0;
      for (size_t k = 0; k < order_ && i + k < words.size(); ++k) {
        const uint32_t at = find(parent, words[i + k]);
        if (slots_[at].limit == 0) {
          slots_[at] = {parent, words[i + k], 1};
          ++distinct;
        }
        if (count[at]++ == 0) touched.push_back(at);
        parent = at + 1;
      }
    }
    for (const uint32_t at : touched) {
      slots_[at].limit = std::max(slots_[at].limit, count[at]);
      count[at] = 0;
    }
    touched.clear();
  }
  return distinct;
}

void NgramTable::match(std::span<const WordId> words, bool clip, Scratch& scratch,
                       int32_t* matches) const {
  if (clip && scratch.used.size() < slots_.size()) scratch.used.resize(slots_.size(), 0);
  for (size_t i = 0; i < words.size(); ++i) {
    uint32_t parent = 0;
    const size_t end = std::min<size_t>(order_, words.size() - i);
    for (size_t k = 0; k < end; ++k) {
      if (words[i + k] == kNoReferenceWord) break;
      const uint32_t at = find(parent, words[i + k]);
      const uint32_t limit = slots_[at].limit;
      if (limit == 0) break;
      if (!clip) {
        ++matches[k];
      } else {
        const uint32_t used = scratch.used[at]++;
        if (used == 0) scratch.touched.push_back(at);
        matches[k] += used < limit;
      }
      parent = at + 1;
    }
  }
  for (const uint32_t at : scratch.touched) scratch.used[at] = 0;
  scratch.touched.clear();
}

}  // namespace hopefear
