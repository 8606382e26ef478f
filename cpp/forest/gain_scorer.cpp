#include "forest/gain_scorer.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace hopefear {
namespace {

// A state: shape (length of the left part * 2 + whether it is all there is), words of the left
// part, numbers of the n-grams that the string ends with (of 1, 2 … words; 0 if it is in no
// reference), length if it counts. Behind it: gain, matches by order, number of words.
struct Part {
  uint32_t shape;
  const uint32_t *left, *right;
  double gain;
  const uint32_t *matches, *length;
};

}  // namespace

GainScorer::GainScorer(const Forest& forest, const BleuReferences& references, size_t sentence,
                       const NgramGain& gain, double sign, std::vector<uint32_t> words,
                       uint32_t source_words, bool by_length)
    : forest_(forest),
      references_(references),
      sentence_(sentence),
      ngrams_(references.ngrams(sentence)),
      gain_(gain),
      sign_(sign),
      target_(std::move(words)),
      source_words_(source_words),
      by_length_(by_length),
      order_(references.order()),
      words_(references.order() - 1),
      right_(order_),
      next_(order_),
      left_(order_) {
  if (gain.matches.size() != order_ || gain.totals.size() != order_) {
    throw std::invalid_argument("a gain of order " + std::to_string(gain.matches.size()) +
                                ", but references of order " + std::to_string(order_));
  }
}

double GainScorer::reference_words(uint32_t node, size_t length) {
  const double unit = references_.length_unit();
  const uint32_t covered = forest_.arrays().covered[node];
  if (source_words_ == 0 || covered == 0 || covered >= source_words_) {
    return references_.reference_length(sentence_, length) / unit;
  }
  // The reference that the whole will be held against, if it goes on like this.
  const double share = static_cast<double>(covered) / source_words_;
  const auto whole = static_cast<size_t>(static_cast<double>(length) / share + 0.5);
  return share * references_.reference_length(sentence_, whole) / unit;
}

double GainScorer::score(uint32_t edge, std::span<const std::byte* const> tails, std::byte* state) {
  const ForestView& a = forest_.arrays();
  const size_t bytes = state_size();
  const auto part_of = [&](const std::byte* at) {
    const auto* words = reinterpret_cast<const uint32_t*>(at);
    const auto* carried = reinterpret_cast<const uint32_t*>(at + bytes + 8);
    Part part{words[0], words + 1, words + 1 + words_, 0, carried, carried + order_};
    std::memcpy(&part.gain, at + bytes, 8);
    return part;
  };
  auto* const out = reinterpret_cast<uint32_t*>(state);
  std::memset(state, 0, bytes);
  auto* const counts = reinterpret_cast<uint32_t*>(state + bytes + 8);
  std::memset(counts, 0, 4 * (size_t{order_} + 1));

  // right_[k]: the n-gram of the last k words; [0] is the empty one. `known` of them are there, and
  // beyond that no reference has one: every n-gram's suffixes are n-grams.
  right_[0] = 0;
  size_t known = 0, left = 0, length = 0;
  bool complete = true;  // all words so far are in the left part
  double below = 0;
  // Counts the n-grams of more than `inside` words that end in `word`.
  const auto read = [&](WordId word, size_t inside) {
    size_t longest = 0;
    next_[0] = 0;
    for (size_t k = 0; k <= known; ++k) {
      const uint32_t ngram = ngrams_.longer(right_[k], word);
      if (ngram == 0) break;
      longest = k + 1;
      if (k + 1 < order_) next_[k + 1] = ngram;
      if (k + 1 > inside) ++counts[k];
    }
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
      ++length;
      continue;
    }
    const Part part = part_of(tails[static_cast<size_t>(-1 - a.target[i])]);
    below += part.gain;
    length += *part.length;
    for (unsigned n = 0; n < order_; ++n) counts[n] += part.matches[n];
    const size_t part_left = part.shape / 2;
    const bool part_complete = (part.shape & 1) != 0;
    // Its first words again, for the n-grams that begin before it.
    for (size_t k = 0; k < part_left; ++k) {
      if (!complete && !part_complete && known <= k) break;  // nothing from before is left
      read(part.left[k], k + 1);
    }
    if (!part_complete) {
      complete = false;
      known = 0;
      while (known < words_ && part.right[known] != 0) {
        right_[known + 1] = part.right[known];
        ++known;
      }
    }
  }
  out[0] = static_cast<uint32_t>(2 * left + (complete ? 1 : 0));
  for (size_t k = 0; k < known; ++k) out[1 + words_ + k] = right_[k + 1];
  if (by_length_) out[1 + 2 * words_] = static_cast<uint32_t>(length);
  counts[order_] = static_cast<uint32_t>(length);
  const double gain =
      sign_ * gain_(counts, static_cast<double>(length), reference_words(a.heads[edge], length));
  std::memcpy(state + bytes, &gain, 8);
  return gain - below;
}

}  // namespace hopefear
