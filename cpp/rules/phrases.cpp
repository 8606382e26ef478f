#include "rules/phrases.hpp"

#include <algorithm>

namespace hopefear::rules {

void InitialPhrases::read(const SentencePair& pair) {
  source_size_ = static_cast<uint32_t>(pair.source.size());
  target_size_ = static_cast<uint32_t>(pair.target.size());
  source_reach_.assign(source_size_, {target_size_, 0});
  target_reach_.assign(target_size_, {source_size_, 0});
  target_begin_.assign(target_size_ + 1, 0);
  for (const Point& point : pair.points) {
    Reach& f = source_reach_[point.source];
    f = {std::min(f.low, point.target), std::max(f.high, point.target)};
    Reach& e = target_reach_[point.target];
    e = {std::min(e.low, point.source), std::max(e.high, point.source)};
    ++target_begin_[point.target + 1];
  }
  for (uint32_t e = 0; e < target_size_; ++e) target_begin_[e + 1] += target_begin_[e];
  by_target_ = pair.points;
  std::sort(by_target_.begin(), by_target_.end(), [](const Point& a, const Point& b) {
    return a.target != b.target ? a.target < b.target : a.source < b.source;
  });
}

// Whether the point exists; the sentence's two outer corners count as points.
bool PhraseExtractor::aligned(int64_t source, int64_t target) const {
  const int64_t source_size = phrases_.source_size(), target_size = phrases_.target_size();
  if (source == -1 && target == -1) return true;
  if (source == source_size && target == target_size) return true;
  if (source < 0 || target < 0 || source >= source_size || target >= target_size) return false;
  const uint32_t e = static_cast<uint32_t>(target);
  for (const Point& point : phrases_.points(e, e)) {
    if (point.source == source) return true;
  }
  return false;
}

Orientation PhraseExtractor::orientation(bool straight, bool crossed) const {
  if (straight == crossed) return Orientation::other;
  return straight ? Orientation::mono : Orientation::swap;
}

void PhraseExtractor::emit(const InitialPhrases::Span& span,
                           const std::function<void(const PhraseOccurrence&)>& visit) {
  const int64_t before = int64_t{span.f0} - 1, behind = int64_t{span.f1} + 1;
  const int64_t previous = int64_t{span.e0} - 1, next = int64_t{span.e1} + 1;
  occurrence_.f0 = span.f0;
  occurrence_.f1 = span.f1;
  occurrence_.e0 = span.e0;
  occurrence_.e1 = span.e1;
  occurrence_.backward = orientation(aligned(before, previous), aligned(behind, previous));
  occurrence_.forward = orientation(aligned(behind, next), aligned(before, next));
  occurrence_.links.clear();
  for (const Point& point : phrases_.points(span.e0, span.e1)) {
    occurrence_.links.push_back({static_cast<uint8_t>(point.source - span.f0),
                                 static_cast<uint8_t>(point.target - span.e0)});
  }
  visit(occurrence_);
}

void PhraseExtractor::operator()(const SentencePair& pair,
                                 const std::function<void(const PhraseOccurrence&)>& visit) {
  phrases_.read(pair);
  phrases_.visit(max_length_, false, [&](const InitialPhrases::Span& span) { emit(span, visit); });
}

}  // namespace hopefear::rules
