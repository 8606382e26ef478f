#include "forest/sample.hpp"

#include <algorithm>
#include <map>

#include "base/interrupt.hpp"

namespace hopefear {
namespace {

// Splitmix64; in [0, 1) with 53 bits.
class Uniform {
 public:
  explicit Uniform(uint64_t seed) : state_(seed) {}
  double operator()() {
    state_ += 0x9e3779b97f4a7c15ULL;
    return static_cast<double>(mix64(mix64(state_) + 0x632be59bd9b4e019ULL) >> 11) * 0x1p-53;
  }

 private:
  uint64_t state_;
};

// The first index whose running sum exceeds u * total; never one of probability 0.
template <typename It>
size_t choose(It begin, It end, double u) {
  const double wanted = u * *(end - 1);
  const It found = std::upper_bound(begin, end, wanted);
  // u < 1, but the product may round up to the total.
  return static_cast<size_t>((found == end ? std::lower_bound(begin, end, wanted) : found) - begin);
}

void accumulate(double* begin, double* end) {
  double sum = 0;
  for (; begin < end; ++begin) *begin = sum += *begin;
}

}  // namespace

std::vector<Derivation> sample(const Forest& forest, Scores scores, Roots roots, size_t count,
                               uint64_t seed) {
  const ForestView& a = forest.arrays();
  Posterior p = posterior(forest, scores, roots);
  std::vector<Derivation> samples;
  if (p.log_z == kNever) return samples;
  for (uint32_t n = 0; n < forest.nodes(); ++n) {
    accumulate(p.conditional.data() + a.node_edges[n], p.conditional.data() + a.node_edges[n + 1]);
  }
  accumulate(p.root.data(), p.root.data() + p.root.size());
  for (size_t i = 0; i < count; ++i) {
    if ((i & 0xff) == 0) poll_interrupt();
    Uniform uniform(combine64(seed, i));
    const uint32_t root = roots[choose(p.root.begin(), p.root.end(), uniform())];
    double score = 0;
    std::vector<uint32_t> edges = expand_derivation(forest, root, [&](uint32_t n) {
      const auto first = p.conditional.begin() + a.node_edges[n];
      const auto last = p.conditional.begin() + a.node_edges[n + 1];
      const uint32_t edge = a.node_edges[n] + static_cast<uint32_t>(choose(first, last, uniform()));
      score += scores[edge];
      return edge;
    });
    samples.push_back({forest, std::move(edges), score});
  }
  return samples;
}

std::vector<SampledString> sample_strings(const Forest& forest, Scores scores, Roots roots,
                                          size_t count, uint64_t seed) {
  std::map<std::vector<int32_t>, size_t> places;
  std::vector<SampledString> strings;
  for (Derivation& derivation : sample(forest, scores, roots, count, seed)) {
    const auto [at, is_new] = places.try_emplace(words_of(derivation), strings.size());
    if (is_new) strings.push_back({derivation, 0});
    SampledString& string = strings[at->second];
    ++string.count;
    if (derivation.score > string.best.score) string.best = std::move(derivation);
  }
  std::stable_sort(strings.begin(), strings.end(),
                   [](const SampledString& a, const SampledString& b) {
                     return a.count != b.count ? a.count > b.count : a.best.score > b.best.score;
                   });
  return strings;
}

}  // namespace hopefear
