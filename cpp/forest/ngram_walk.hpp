// Reads the string of an edge from left to right, with only the ends of its tails: finds the
// n-grams of the references that the edge completes and the state that its head needs. Shared by
// the scorers that count n-grams of references over a forest.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "forest/forest.hpp"
#include "metrics/ngram_table.hpp"

namespace hopefear {

// A state has size() numbers: twice the number of words of the left part, plus 1 if the left part
// is the complete string; the words of the left part, as far as an n-gram that begins before the
// string can continue with them; and the numbers of the n-grams that the string ends with (of 1, 2
// … words). An end that is never next to another string is omitted: in a forest of left-to-right
// search no node is split by the beginning of its string.
class NgramWalk {
 public:
  // `words`: the references' number of the word at each index of the target array
  // (numbered_target). The table is borrowed. O(E + tails).
  NgramWalk(const Forest& forest, const NgramTable& ngrams, std::vector<uint32_t> words)
      : forest_(forest),
        ngrams_(ngrams),
        target_(std::move(words)),
        order_(ngrams.order()),
        words_(ngrams.order() - 1),
        right_(order_),
        next_(order_),
        before_(forest.nodes(), 0),
        after_(forest.nodes(), 0) {
    const ForestView& a = forest_.arrays();
    for (uint32_t e = forest_.edges(); e-- > 0;) {  // heads before tails
      for (uint32_t i = a.target_begin[e]; i < a.target_begin[e + 1]; ++i) {
        if (a.target[i] >= 0) continue;
        const uint32_t tail = a.tails[a.tail_begin[e] + static_cast<uint32_t>(-1 - a.target[i])];
        before_[tail] |= i > a.target_begin[e] ? 1 : before_[a.heads[e]];
        after_[tail] |= i + 1 < a.target_begin[e + 1] ? 1 : after_[a.heads[e]];
      }
    }
  }

  size_t size() const { return 2 * words_ + 1; }

  // Writes the state of the edge's head; calls match(n) for every n-gram of n words that occurs in
  // a reference and is not inside a single tail, and miss() for every word of the edge that occurs
  // in no reference.
  template <typename Match, typename Miss>
  void operator()(uint32_t edge, std::span<const std::byte* const> tails, uint32_t* out,
                  Match&& match, Miss&& miss) {
    const ForestView& a = forest_.arrays();
    std::memset(out, 0, 4 * size());
    // right_[k]: the n-gram of the last k words, for k up to `known`; [0] is the empty one. No
    // reference has a longer one, since every suffix of an n-gram is an n-gram.
    right_[0] = 0;
    size_t known = 0, left = 0;
    bool complete = true;  // all words so far are in the left part
    // Reads a word; its n-grams of up to `inside` words are inside a tail and not counted.
    const auto read = [&](WordId word, size_t inside) {
      size_t longest = 0;
      next_[0] = 0;
      for (size_t k = 0; k <= known; ++k) {
        const uint32_t ngram = ngrams_.longer(right_[k], word);
        if (ngram == 0) break;
        longest = k + 1;
        if (longest < order_) next_[longest] = ngram;
        if (longest > inside) match(longest);
      }
      if (inside == 0 && longest == 0) miss();
      if (complete) {
        if (longest == left + 1 && left < words_) {
          out[1 + left++] = word;
        } else {
          complete = false;
        }
      }
      std::swap(right_, next_);
      known = std::min(longest, words_);
    };
    for (uint32_t i = a.target_begin[edge]; i < a.target_begin[edge + 1]; ++i) {
      if (a.target[i] >= 0) {
        read(target_[i], 0);
        continue;
      }
      const auto* part =
          reinterpret_cast<const uint32_t*>(tails[static_cast<size_t>(-1 - a.target[i])]);
      const size_t part_left = part[0] / 2;
      const bool part_complete = (part[0] & 1) != 0;
      // Reads the tail's first words, for the n-grams that begin before the tail.
      for (size_t k = 0; k < part_left; ++k) {
        if (!complete && !part_complete && known <= k)
          break;  // no n-gram reaches back before the tail
        read(part[1 + k], k + 1);
      }
      if (part_complete) continue;
      complete = false;
      known = 0;
      while (known < words_ && part[1 + words_ + known] != 0) {
        right_[known + 1] = part[1 + words_ + known];
        ++known;
      }
    }
    const uint32_t head = a.heads[edge];
    if (before_[head] != 0) {
      out[0] = static_cast<uint32_t>(2 * left + (complete ? 1 : 0));
    } else {
      std::memset(out, 0, 4 * (1 + words_));
    }
    if (after_[head] == 0) return;
    for (size_t k = 0; k < known; ++k) out[1 + words_ + k] = right_[k + 1];
  }

 private:
  const Forest forest_;  // a handle; the arrays are shared
  const NgramTable& ngrams_;
  const std::vector<uint32_t> target_;
  const unsigned order_;
  const size_t words_;                   // at each end: order - 1
  std::vector<uint32_t> right_, next_;   // n-grams of the last 1, 2 … words
  std::vector<uint8_t> before_, after_;  // per node: whether any edge has a symbol there
};

}  // namespace hopefear
