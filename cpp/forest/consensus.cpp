#include "forest/consensus.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <unordered_map>

#include "base/hash.hpp"

namespace hopefear {

NgramScorer::NgramScorer(const Forest& forest, unsigned order) : forest_(forest), order_(order) {
  if (order < 1 || order > 16) throw std::invalid_argument("order must be from 1 to 16");
}

void NgramScorer::lay_out(uint32_t edge, std::span<const std::byte* const> tails) {
  const size_t ends = order_ - 1;
  string_.clear();
  part_.clear();
  for (const int32_t symbol : forest_.target(edge)) {
    if (symbol >= 0) {
      string_.push_back(symbol);
      part_.push_back(0);
      continue;
    }
    const size_t tail = static_cast<size_t>(-1 - symbol);
    const auto* state = reinterpret_cast<const int32_t*>(tails[tail]);
    const uint32_t number = static_cast<uint32_t>(tail) + 1;
    const size_t length = static_cast<size_t>(state[0]);  // `ends` + 1 for any more than that
    const size_t left = std::min(length, ends);
    string_.insert(string_.end(), state + 1, state + 1 + left);
    part_.resize(string_.size(), number);
    if (length > ends) {
      string_.push_back(kGap);
      string_.insert(string_.end(), state + 1 + ends, state + 1 + 2 * ends);
      part_.resize(string_.size(), number);
    }
  }
}

double NgramScorer::score(uint32_t edge, std::span<const std::byte* const> tails,
                          std::byte* state) {
  const size_t ends = order_ - 1;
  lay_out(edge, tails);
  std::memset(state, 0, state_size());
  auto* const out = reinterpret_cast<int32_t*>(state);
  const bool gap = std::find(string_.begin(), string_.end(), kGap) != string_.end();
  const size_t length = gap ? ends + 1 : std::min(string_.size(), ends + 1);
  out[0] = static_cast<int32_t>(length);
  // The gap of a tail is between its first and last words, so it is never among the first or last
  // `ends` words.
  std::copy_n(string_.begin(), std::min(length, ends), out + 1);
  if (length > ends)
    std::copy_n(string_.end() - static_cast<ptrdiff_t>(ends), ends, out + 1 + ends);
  return 0;
}

template <typename F>
void NgramScorer::for_new_ngrams(uint32_t edge, std::span<const std::byte* const> tails, F&& f) {
  lay_out(edge, tails);
  for (size_t i = 0; i < string_.size(); ++i) {
    bool own = false;  // words of the edge, or of different tails
    for (size_t n = 1; n <= order_ && i + n <= string_.size(); ++n) {
      const size_t last = i + n - 1;
      if (string_[last] == kGap) break;
      own = own || part_[last] == 0 || part_[last] != part_[i];
      if (own) f(std::span<const int32_t>(string_).subspan(i, n));
    }
  }
}

Consensus consensus(const Forest& forest, Scores scores, Roots roots,
                    const ConsensusOptions& options) {
  if (options.theta.size() < 2)
    throw std::invalid_argument("theta needs at least two values: per word, per unigram");
  const unsigned order = static_cast<unsigned>(options.theta.size() - 1);
  std::vector<uint8_t> wanted(forest.nodes(), 0);
  for (const uint32_t root : roots) wanted[root] = 1;
  NgramScorer scorer(forest, order);
  Consensus result{expand(forest, scores, scorer,
                          {options.beam, kExpandLimit, /*merge_goal=*/false, /*eager=*/false}),
                   {},
                   {}};
  const Forest& split = result.split.forest;
  for (uint32_t n = 0; n < split.nodes(); ++n) {
    if (wanted[result.split.nodes[n]] != 0) result.roots.push_back(n);
  }
  std::vector<double> scaled = result.split.scores;
  for (double& score : scaled) score *= options.scale;
  const std::vector<double> uses = posterior(split, scaled, result.roots).edges;

  // N-grams are identified by their 64-bit hash.
  std::unordered_map<uint64_t, double> expected;
  std::vector<const std::byte*> states;
  const auto for_edge = [&](uint32_t e, auto&& f) {
    states.clear();
    for (const uint32_t t : split.tails(e)) {
      states.push_back(result.split.states.data() + t * result.split.stride);
    }
    scorer.for_new_ngrams(result.split.edges[e], states, [&](std::span<const int32_t> ngram) {
      uint64_t hash = ngram.size();
      for (const int32_t word : ngram) hash = combine64(hash, static_cast<uint32_t>(word));
      f(hash, ngram.size());
    });
  };
  for (uint32_t e = 0; e < split.edges(); ++e) {
    if (uses[e] == 0) continue;
    for_edge(e, [&](uint64_t ngram, size_t) { expected[ngram] += uses[e]; });
  }
  result.gains.assign(split.edges(), 0);
  for (uint32_t e = 0; e < split.edges(); ++e) {
    double gain = 0;
    for (const int32_t symbol : split.target(e)) gain += symbol >= 0 ? options.theta[0] : 0;
    if (uses[e] > 0) {
      for_edge(e, [&](uint64_t ngram, size_t n) {
        gain += options.theta[n] * std::min(1.0, expected[ngram]);
      });
    }
    result.gains[e] = gain;
  }
  return result;
}

}  // namespace hopefear
