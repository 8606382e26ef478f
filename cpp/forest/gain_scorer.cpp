#include "forest/gain_scorer.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace hopefear {

GainScorer::GainScorer(const Forest& forest, const BleuReferences& references, size_t sentence,
                       const NgramGain& gain, double sign, std::vector<uint32_t> words,
                       uint32_t source_words, bool by_length)
    : forest_(forest),
      references_(references),
      sentence_(sentence),
      walk_(forest, references.ngrams(sentence), std::move(words)),
      gain_(gain),
      sign_(sign),
      source_words_(source_words),
      by_length_(by_length),
      order_(references.order()) {
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
  // The reference length for the complete derivation, extrapolated from the length so far.
  const double share = static_cast<double>(covered) / source_words_;
  const auto whole = static_cast<size_t>(static_cast<double>(length) / share + 0.5);
  return share * references_.reference_length(sentence_, whole) / unit;
}

// A state is that of the walk and, with by_length, the length. The payload: gain, matches by order,
// number of words.
double GainScorer::score(uint32_t edge, std::span<const std::byte* const> tails, std::byte* state) {
  const size_t bytes = state_size();
  auto* const counts = reinterpret_cast<uint32_t*>(state + bytes + 8);
  std::memset(state, 0, bytes);
  std::memset(counts, 0, 4 * (size_t{order_} + 1));
  uint32_t& length = counts[order_];
  double below = 0;
  for (const std::byte* const tail : tails) {
    double part = 0;
    std::memcpy(&part, tail + bytes, 8);
    below += part;
    const auto* carried = reinterpret_cast<const uint32_t*>(tail + bytes + 8);
    for (unsigned n = 0; n <= order_; ++n) counts[n] += carried[n];
  }
  length += static_cast<uint32_t>(forest_.target(edge).size() - tails.size());
  auto* const out = reinterpret_cast<uint32_t*>(state);
  walk_(edge, tails, out, [&](size_t n) { ++counts[n - 1]; }, [] {});
  if (by_length_) out[walk_.size()] = length;
  const uint32_t head = forest_.arrays().heads[edge];
  const double gain =
      sign_ * gain_(counts, static_cast<double>(length), reference_words(head, length));
  std::memcpy(state + bytes, &gain, 8);
  return gain - below;
}

}  // namespace hopefear
