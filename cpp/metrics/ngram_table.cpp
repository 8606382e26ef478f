#include "metrics/ngram_table.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace hopefear {

NgramTable::NgramTable(std::span<const std::vector<WordId>> sequences, unsigned order)
    : order_(order) {
  size_t bound = 0;
  for (const std::vector<WordId>& words : sequences) bound += words.size() * order;
  if (bound > (size_t{1} << 29)) throw InputError("a reference of over 10^8 words; split it");
  // References share most n-grams: count the distinct ones first, so that the table fits a cache.
  fill(sequences, bound);
  if (4 * slots_.size() <= slots_.places()) fill(sequences, slots_.size());
}

void NgramTable::fill(std::span<const std::vector<WordId>> sequences, size_t ngrams) {
  slots_ = {};
  slots_.reserve(ngrams);
  std::vector<uint32_t> count(slots_.places(), 0);
  std::vector<uint32_t> touched;
  for (const std::vector<WordId>& words : sequences) {
    for (size_t i = 0; i < words.size(); ++i) {
      uint32_t parent = 0;
      for (size_t k = 0; k < order_ && i + k < words.size(); ++k) {
        const WordId word = words[i + k];
        const auto [slot, is_new] = slots_.insert(hash_of(parent, word), is(parent, word));
        if (is_new) slot = {parent, word, 1};
        parent = number(slot);
        if (count[parent - 1]++ == 0) touched.push_back(parent - 1);
      }
    }
    for (const uint32_t at : touched) {
      slots_.at(at).limit = std::max(slots_.at(at).limit, count[at]);
      count[at] = 0;
    }
    touched.clear();
  }
}

void NgramTable::match(std::span<const WordId> words, bool clip, Scratch& scratch,
                       int32_t* matches) const {
  if (clip && scratch.used.size() < slots_.places()) scratch.used.resize(slots_.places(), 0);
  for (size_t i = 0; i < words.size(); ++i) {
    uint32_t parent = 0;
    const size_t end = std::min<size_t>(order_, words.size() - i);
    for (size_t k = 0; k < end; ++k) {
      if (words[i + k] == kNoReferenceWord) break;
      const Slot* const found = find(parent, words[i + k]);
      if (found == nullptr) break;
      parent = number(*found);
      if (!clip) {
        ++matches[k];
      } else {
        const uint32_t used = scratch.used[parent - 1]++;
        if (used == 0) scratch.touched.push_back(parent - 1);
        matches[k] += used < found->limit;
      }
    }
  }
  for (const uint32_t at : scratch.touched) scratch.used[at] = 0;
  scratch.touched.clear();
}

}  // namespace hopefear
