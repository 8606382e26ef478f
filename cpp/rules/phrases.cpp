#include "rules/phrases.hpp"

#include <algorithm>

namespace hopefear::rules {

// Whether there is such a point; the sentence's two outer corners count as points.
bool PhraseExtractor::aligned(int64_t source, int64_t target) const {
  if (source == -1 && target == -1) return true;
  if (source == source_size_ && target == target_size_) return true;
  if (source < 0 || target < 0 || source >= source_size_ || target >= target_size_) return false;
  for (uint32_t i = target_begin_[target]; i < target_begin_[target + 1]; ++i) {
    if (by_target_[i].source == source) return true;
  }
  return false;
}

Orientation PhraseExtractor::orientation(bool straight, bool crossed) const {
  if (straight == crossed) return Orientation::other;
  return straight ? Orientation::mono : Orientation::swap;
}

void PhraseExtractor::emit(uint32_t f0, uint32_t f1, uint32_t e0, uint32_t e1,
                           const std::function<void(const PhraseOccurrence&)>& visit) {
  const int64_t before = int64_t{f0} - 1, behind = int64_t{f1} + 1;
  const int64_t previous = int64_t{e0} - 1, next = int64_t{e1} + 1;
  found_.f0 = f0;
  found_.f1 = f1;
  found_.e0 = e0;
  found_.e1 = e1;
  found_.backward = orientation(aligned(before, previous), aligned(behind, previous));
  found_.forward = orientation(aligned(behind, next), aligned(before, next));
  found_.links.clear();
  for (uint32_t i = target_begin_[e0]; i < target_begin_[e1 + 1]; ++i) {
    found_.links.push_back({static_cast<uint8_t>(by_target_[i].source - f0),
                            static_cast<uint8_t>(by_target_[i].target - e0)});
  }
  visit(found_);
}

void PhraseExtractor::operator()(const SentencePair& pair,
                                 const std::function<void(const PhraseOccurrence&)>& visit) {
  source_size_ = static_cast<int64_t>(pair.source.size());
  target_size_ = static_cast<int64_t>(pair.target.size());
  const uint32_t source_size = static_cast<uint32_t>(source_size_);
  const uint32_t target_size = static_cast<uint32_t>(target_size_);
  source_reach_.assign(source_size, {target_size, 0});
  target_reach_.assign(target_size, {source_size, 0});
  target_begin_.assign(target_size + 1, 0);
  for (const Point& point : pair.points) {
    Reach& f = source_reach_[point.source];
    f = {std::min(f.low, point.target), std::max(f.high, point.target)};
    Reach& e = target_reach_[point.target];
    e = {std::min(e.low, point.source), std::max(e.high, point.source)};
    ++target_begin_[point.target + 1];
  }
  for (uint32_t e = 0; e < target_size; ++e) target_begin_[e + 1] += target_begin_[e];
  by_target_ = pair.points;
  std::sort(by_target_.begin(), by_target_.end(), [](const Point& a, const Point& b) {
    return a.target != b.target ? a.target < b.target : a.source < b.source;
  });
  const auto unaligned = [&](uint32_t f) { return source_reach_[f].low == target_size; };

  for (uint32_t e0 = 0; e0 < target_size; ++e0) {
    uint32_t low = source_size, high = 0;  // the source words that e0..e1 is aligned to
    for (uint32_t e1 = e0; e1 < target_size && e1 - e0 < max_length_; ++e1) {
      if (target_reach_[e1].low < source_size) {
        low = std::min(low, target_reach_[e1].low);
        high = std::max(high, target_reach_[e1].high);
      }
      if (low == source_size) continue;
      if (high - low >= max_length_) break;  // a longer target span only makes it longer
      bool inside = true;
      for (uint32_t f = low; f <= high && inside; ++f) {
        inside = unaligned(f) || (source_reach_[f].low >= e0 && source_reach_[f].high <= e1);
      }
      if (!inside) continue;
      for (uint32_t f0 = low;; --f0) {
        for (uint32_t f1 = high; f1 - f0 < max_length_; ++f1) {
          emit(f0, f1, e0, e1, visit);
          if (f1 + 1 == source_size || !unaligned(f1 + 1)) break;
        }
        if (f0 == 0 || !unaligned(f0 - 1) || high - (f0 - 1) >= max_length_) break;
      }
    }
  }
}

}  // namespace hopefear::rules
