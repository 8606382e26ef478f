#include "forest/linear_scorer.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace hopefear {
namespace {

// Whether every target side begins with its tail's string, if it has any.
bool grows_rightwards(const ForestView& a) {
  for (size_t e = 0; e + 1 < a.target_begin.size(); ++e) {
    if (a.tail_begin[e + 1] - a.tail_begin[e] > 1) return false;
    for (uint32_t i = a.target_begin[e] + 1; i < a.target_begin[e + 1]; ++i) {
      if (a.target[i] < 0) return false;
    }
  }
  return true;
}

}  // namespace

LinearScorer::LinearScorer(const Forest& forest, const BleuReferences& references, size_t sentence,
                           std::vector<double> xi, std::vector<uint32_t> words, FeatureId feature)
    : forest_(forest),
      ngrams_(references.ngrams(sentence)),
      xi_(std::move(xi)),
      target_(std::move(words)),
      feature_(feature),
      order_(references.order()),
      words_(references.order() - 1),
      rightwards_(grows_rightwards(forest.arrays())),
      right_(order_),
      next_(order_) {
  if (xi_.size() != order_ + 1) {
    throw std::invalid_argument(std::to_string(xi_.size()) +
                                " constants, but references of order " + std::to_string(order_));
  }
}

// A state: 2 * words of the left part + whether it is all there is, the left part, and the numbers
// of the n-grams that the string ends with (of 1, 2 … words).
double LinearScorer::score(uint32_t edge, std::span<const std::byte* const> tails,
                           std::byte* state) {
  const ForestView& a = forest_.arrays();
  auto* const out = reinterpret_cast<uint32_t*>(state);
  std::memset(state, 0, state_size());
  double gain = 0;
  // right_[k]: the n-gram of the last k words; [0] is the empty one. There are `known` more: the
  // suffixes of an n-gram are n-grams, so beyond the longest one no reference has any.
  right_[0] = 0;
  size_t known = 0, left = 0;
  bool complete = !rightwards_;  // all words so far are in the left part
  // Counts the n-grams of more than `inside` words that end in `word`.
  const auto read = [&](WordId word, size_t inside) {
    size_t longest = 0;
    next_[0] = 0;
    for (size_t k = 0; k <= known; ++k) {
      const uint32_t ngram = ngrams_.longer(right_[k], word);
      if (ngram == 0) break;
      longest = k + 1;
      if (longest < order_) next_[longest] = ngram;
      if (longest > inside) gain += xi_[longest];
    }
    if (inside == 0 && longest == 0) gain -= xi_[0];
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
    // Its first words again, for the n-grams that begin before it.
    for (size_t k = 0; k < part_left; ++k) {
      if (!complete && !part_complete && known <= k) break;  // nothing from before is left
      read(part[1 + k], k + 1);
    }
    if (!part_complete) {
      complete = false;
      known = 0;
      while (known < words_ && part[1 + words_ + known] != 0) {
        right_[known + 1] = part[1 + words_ + known];
        ++known;
      }
    }
  }
  out[0] = static_cast<uint32_t>(2 * left + (complete ? 1 : 0));
  for (size_t k = 0; k < known; ++k) out[1 + words_ + k] = right_[k + 1];
  std::memcpy(state + state_size(), &gain, 8);
  return 0;
}

void LinearScorer::record(uint32_t, std::span<const std::byte* const>, const std::byte* payload,
                          FeatureNumbers& features, std::vector<FeatureEntry>& own) {
  double gain = 0;
  std::memcpy(&gain, payload, 8);
  if (gain != 0) own.push_back({features.feature(feature_), static_cast<float>(gain)});
}

}  // namespace hopefear
