// Extracts the phrase pairs of one aligned sentence pair, with their orientations relative to
// neighbours. [koehn2003, koehn2005]
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "rules/aligned_corpus.hpp"

namespace hopefear::rules {

enum class Orientation : uint8_t { mono, swap, other };

// One occurrence of a phrase pair: words f0..f1 and e0..e1, both ends included.
struct PhraseOccurrence {
  uint32_t f0, f1, e0, e1;
  Orientation backward, forward;  // relative to the previous and the next target word
  std::vector<Link> links;        // inside the pair, ordered by target, then source
};

// The pairs of spans that are consistent with the alignment of a sentence pair. Reuses its buffers
// between sentences.
class InitialPhrases {
 public:
  struct Span {
    uint32_t f0, f1, e0, e1;  // both ends included
  };
  void read(const SentencePair& pair);
  // Calls visit_span(span) for every pair of spans of at most `max_length` words each that contains
  // a point and whose points all lie inside; spans may be extended over unaligned edges, unless
  // `tight`. O(words * max_length^2 + output).
  template <typename F>
  void visit(uint32_t max_length, bool tight, F&& visit_span) const;

  uint32_t source_size() const { return source_size_; }
  uint32_t target_size() const { return target_size_; }
  // The points of target words first..last, ordered by target, then source.
  std::span<const Point> points(uint32_t first, uint32_t last) const {
    return {by_target_.data() + target_begin_[first], by_target_.data() + target_begin_[last + 1]};
  }

 private:
  struct Reach {
    uint32_t low, high;  // the outermost points of a word; low > high if it has none
  };
  bool free_source(uint32_t f) const { return source_reach_[f].low > source_reach_[f].high; }
  bool free_target(uint32_t e) const { return target_reach_[e].low > target_reach_[e].high; }
  uint32_t source_size_ = 0, target_size_ = 0;
  std::vector<Reach> source_reach_, target_reach_;
  std::vector<Point> by_target_;        // the points, ordered by target, then source
  std::vector<uint32_t> target_begin_;  // where each target word's points begin
};

// Calls `visit` for every pair of spans of InitialPhrases, not tight: the phrase pairs of Moses's
// extract. The orientation is word-based (from the corner point, Moses's wbe). For one thread.
class PhraseExtractor {
 public:
  explicit PhraseExtractor(uint32_t max_length) : max_length_(max_length) {}
  void operator()(const SentencePair& pair,
                  const std::function<void(const PhraseOccurrence&)>& visit);

 private:
  bool aligned(int64_t source, int64_t target) const;
  Orientation orientation(bool straight, bool crossed) const;
  void emit(const InitialPhrases::Span& span,
            const std::function<void(const PhraseOccurrence&)>& visit);
  uint32_t max_length_;
  InitialPhrases phrases_;
  PhraseOccurrence occurrence_;
};

template <typename F>
void InitialPhrases::visit(uint32_t max_length, bool tight, F&& visit_span) const {
  for (uint32_t e0 = 0; e0 < target_size_; ++e0) {
    if (tight && free_target(e0)) continue;
    uint32_t low = source_size_, high = 0;  // the source words that e0..e1 is aligned to
    for (uint32_t e1 = e0; e1 < target_size_ && e1 - e0 < max_length; ++e1) {
      if (!free_target(e1)) {
        low = std::min(low, target_reach_[e1].low);
        high = std::max(high, target_reach_[e1].high);
      } else if (tight) {
        continue;
      }
      if (low == source_size_) continue;
      if (high - low >= max_length) break;  // a longer target span only makes it longer
      bool inside = true;
      for (uint32_t f = low; f <= high && inside; ++f) {
        inside = free_source(f) || (source_reach_[f].low >= e0 && source_reach_[f].high <= e1);
      }
      if (!inside) continue;
      for (uint32_t f0 = low;; --f0) {
        for (uint32_t f1 = high; f1 - f0 < max_length; ++f1) {
          visit_span(Span{f0, f1, e0, e1});
          if (tight || f1 + 1 == source_size_ || !free_source(f1 + 1)) break;
        }
        if (tight || f0 == 0 || !free_source(f0 - 1) || high - (f0 - 1) >= max_length) break;
      }
    }
  }
}

}  // namespace hopefear::rules
