// The phrase pairs of one aligned sentence pair, and how each lies to its neighbours. [koehn2003,
// koehn2005]
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "rules/aligned_corpus.hpp"

namespace hopefear::rules {

enum class Orientation : uint8_t { mono, swap, other };

// One occurrence of a phrase pair: words f0..f1 and e0..e1, both ends included.
struct PhraseOccurrence {
  uint32_t f0, f1, e0, e1;
  Orientation backward, forward;  // to the previous and to the next target word
  std::vector<Link> links;        // inside the pair, ordered by target, then source
};

// Calls `visit` for every pair of spans of at most `max_length` words each that has a point, whose
// points stay inside, and whose unaligned edges may grow; the same as Moses's extract. The
// orientation is word-based (one look at the corner point, Moses's wbe). O(words * max_length^2)
// and what comes out. Keeps its buffers between sentences; one per thread.
class PhraseExtractor {
 public:
  explicit PhraseExtractor(uint32_t max_length) : max_length_(max_length) {}
  void operator()(const SentencePair& pair,
                  const std::function<void(const PhraseOccurrence&)>& visit);

 private:
  struct Reach {
    uint32_t low, high;  // the outermost points of a word; low > high if it has none
  };
  bool aligned(int64_t source, int64_t target) const;
  Orientation orientation(bool straight, bool crossed) const;
  void emit(uint32_t f0, uint32_t f1, uint32_t e0, uint32_t e1,
            const std::function<void(const PhraseOccurrence&)>& visit);
  uint32_t max_length_;
  int64_t source_size_ = 0, target_size_ = 0;
  std::vector<Reach> source_reach_, target_reach_;
  std::vector<Point> by_target_;        // the points, ordered by target, then source
  std::vector<uint32_t> target_begin_;  // where each target word's points begin
  PhraseOccurrence found_;
};

}  // namespace hopefear::rules
