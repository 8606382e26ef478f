#include "rules/hiero.hpp"

#include <string>

#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace hopefear::rules {

void HieroExtractor::operator()(const SentencePair& pair,
                                const std::function<void(const HieroOccurrence&)>& visit,
                                SpanLabels* labels) {
  labels_ = labels;
  phrases_.read(pair);
  steps_ = 0;
  all_.clear();
  for (std::vector<Span>& spans : by_start_) spans.clear();
  if (by_start_.size() < pair.source.size()) by_start_.resize(pair.source.size());
  phrases_.visit(options_.max_span, options_.tight, [&](const Span& span) {
    all_.push_back(span);
    if (span.f1 - span.f0 + 1 >= options_.min_hole) by_start_[span.f0].push_back(span);
  });
  for (const Span& phrase : all_) {
    rules_.clear();
    collect(phrase);
    occurrence_.siblings = options_.fractional ? static_cast<uint32_t>(rules_.size()) : 1;
    for (const Rule& rule : rules_) {
      fill(pair, phrase, rule);
      count_steps(4 * (occurrence_.source.size() + occurrence_.target.size()));
      visit(occurrence_);
    }
  }
}

void HieroExtractor::collect(const Span& phrase) {
  add_rule(phrase, {});
  if (options_.max_nonterminals == 0) return;
  const uint32_t size = phrase.f1 - phrase.f0 + 1;
  inside_.clear();
  for (uint32_t start = phrase.f0; start <= phrase.f1; ++start) {
    for (const Span& hole : by_start_[start]) {
      if (hole.f1 > phrase.f1 || hole.e0 < phrase.e0 || hole.e1 > phrase.e1) continue;
      // A word must remain on each side.
      if (hole.f1 - hole.f0 + 1 == size || hole.e1 - hole.e0 == phrase.e1 - phrase.e0) continue;
      inside_.push_back(hole);
    }
  }
  const uint32_t gap = options_.adjacent ? 1 : 2;
  for (const Span& first : inside_) {
    count_steps(inside_.size());
    const uint32_t left = size - (first.f1 - first.f0 + 1);
    if (left + 1 <= options_.max_symbols) add_rule(phrase, {1, {first, {}}});
    if (options_.max_nonterminals < 2) continue;
    for (const Span& second : inside_) {
      if (second.f0 < first.f1 + gap) continue;
      if (second.e0 <= first.e1 && first.e0 <= second.e1) continue;
      if (left - (second.f1 - second.f0 + 1) + 2 <= options_.max_symbols) {
        add_rule(phrase, {2, {first, second}});
      }
    }
  }
}

void HieroExtractor::count_steps(uint64_t steps) {
  if ((steps_ + steps) / kPollSteps != steps_ / kPollSteps) poll_interrupt();
  steps_ += steps;
  if (steps_ > most_steps_) {
    throw InputError("extraction of rules takes more than " + std::to_string(most_steps_) +
                     " steps; set a smaller max_span or max_symbols, or remove the pair");
  }
}

// Adds a rule, unless it has too many symbols or too few words.
void HieroExtractor::add_rule(const Span& phrase, const Rule& rule) {
  uint32_t source_words = phrase.f1 - phrase.f0 + 1, target_words = phrase.e1 - phrase.e0 + 1;
  for (uint32_t i = 0; i < rule.size; ++i) {
    source_words -= rule.holes[i].f1 - rule.holes[i].f0 + 1;
    target_words -= rule.holes[i].e1 - rule.holes[i].e0 + 1;
  }
  if (source_words + rule.size > options_.max_symbols || source_words == 0 || target_words == 0) {
    return;
  }
  if (options_.aligned && rule.size > 0) {
    // One side of a point is enough: holes are phrases, so no point leads out of a hole.
    bool aligned = false;
    for (const Point& point : phrases_.points(phrase.e0, phrase.e1)) {
      bool inside = false;
      for (uint32_t i = 0; i < rule.size; ++i) {
        inside |= point.target >= rule.holes[i].e0 && point.target <= rule.holes[i].e1;
      }
      aligned |= !inside;
    }
    if (!aligned) return;
  }
  rules_.push_back(rule);
}

void HieroExtractor::fill(const SentencePair& pair, const Span& phrase, const Rule& rule) {
  source_place_.assign(phrase.f1 - phrase.f0 + 1, kHole);
  target_place_.assign(phrase.e1 - phrase.e0 + 1, kHole);
  occurrence_.source.clear();
  occurrence_.target.clear();
  occurrence_.links.clear();
  occurrence_.label = label_of(phrase);
  for (uint32_t f = phrase.f0, hole = 0; f <= phrase.f1; ++f) {
    if (hole < rule.size && rule.holes[hole].f0 == f) {
      f = rule.holes[hole].f1;
      occurrence_.source.push_back(kNonterminal | label_of(rule.holes[hole++]));
      continue;
    }
    source_place_[f - phrase.f0] = static_cast<uint8_t>(occurrence_.source.size());
    occurrence_.source.push_back(pair.source[f]);
  }
  for (uint32_t e = phrase.e0; e <= phrase.e1; ++e) {
    uint32_t hole = 0;
    while (hole < rule.size && rule.holes[hole].e0 != e) ++hole;
    if (hole < rule.size) {
      e = rule.holes[hole].e1;
      occurrence_.target.push_back(kNonterminal | hole);
      continue;
    }
    target_place_[e - phrase.e0] = static_cast<uint8_t>(occurrence_.target.size());
    occurrence_.target.push_back(pair.target[e]);
  }
  for (const Point& point : phrases_.points(phrase.e0, phrase.e1)) {
    const uint8_t target = target_place_[point.target - phrase.e0];
    if (target == kHole) continue;
    occurrence_.links.push_back({source_place_[point.source - phrase.f0], target});
  }
}

}  // namespace hopefear::rules
