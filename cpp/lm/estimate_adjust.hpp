// Computes the entries of all orders with adjusted counts, and the discounts, from the sorted
// n-grams of the highest order.  [chen1998, kneser1995, heafield2013]
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lm/estimate_count.hpp"
#include "lm/estimate_storage.hpp"

namespace hopefear::lm::estimation {

// An n-gram of order k: its first word and a reference to its suffix. The entries of an order are a
// column in suffix order; an entry's index in it is its rank. The rank of a unigram is its word id.
struct Entry {
  Entry() = default;
  Entry(WordId first_word, bool is_pruned, uint32_t suffix, uint32_t adjusted_count)
      : word_and_flag(first_word | (is_pruned ? kFlag : 0)),
        parent(suffix),
        count(adjusted_count) {}
  WordId word() const { return word_and_flag & ~kFlag; }
  bool pruned() const { return (word_and_flag & kFlag) != 0; }

  static constexpr uint32_t kFlag = uint32_t{1} << 31;
  uint32_t word_and_flag;  // the first word
  uint32_t parent;         // rank of the suffix among the n-grams of order k - 1
  uint32_t count;          // adjusted
};

using Discounts = std::array<double, 4>;  // by count: 0, 1, 2, "3 or more"; [0] is 0

struct OrderSummary {
  uint64_t distinct = 0;                    // n-grams in the text (and <unk>, <s>)
  uint64_t kept = 0;                        // n-grams that were not pruned
  std::array<uint64_t, 5> with_count = {};  // [k]: n-grams with adjusted count k, 1 <= k <= 4
  Discounts discounts = {};
  bool fell_back = false;  // the text gives no usable discounts
};

// Appends the entries of order k to columns[k - 1] and counts them in summaries[k - 1]. An n-gram
// whose raw count is not above prune[k - 1] gets the flag. One scan; memory: one entry per order.
template <int N>
void adjust_counts(NgramStream<N>& ngrams, std::span<const uint64_t> prune,
                   std::span<Column<Entry>> columns, std::span<OrderSummary> summaries);

// Computes the discounts of all orders; if the text gives none, `fallback` is used, or if that is
// empty an InputError that begins with `text_name` is thrown.
void set_discounts(std::span<OrderSummary> summaries, std::span<const double> fallback,
                   const std::string& text_name);

}  // namespace hopefear::lm::estimation
