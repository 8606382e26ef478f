// Extracts the hierarchical rules of one aligned sentence pair: initial phrases, and the rules made
// by replacing phrases inside them by nonterminals. [chiang2007]
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "rules/phrases.hpp"
#include "rules/rule.hpp"
#include "rules/span_labels.hpp"

namespace hopefear::rules {

// Chiang 2007, section 3.2. With the defaults of rules/hiero.py the rules and counts are those of
// Moses's extract-rules --MaxSpan 10 --MinHoleSource 1 --FractionalCounting.
struct HieroOptions {
  uint32_t max_span;          // longest side of an initial phrase, in words; at most 100
  uint32_t max_symbols;       // longest source side of a rule
  uint32_t max_nonterminals;  // 0, 1 or 2
  uint32_t min_hole;          // minimum number of source words of a nonterminal
  bool adjacent;              // nonterminals may be neighbours on the source side
  bool aligned;               // a rule needs a pair of aligned words; otherwise a word on each side
  bool tight;                 // initial phrases do not begin or end with unaligned words
  bool fractional;            // the rules of an initial phrase share a count of 1; otherwise 1 each
  double min_count;  // minimum number of occurrences of a rule with nonterminals in a table
};

// One occurrence of a rule.
struct HieroOccurrence {
  std::vector<Symbol> source, target;  // words of the corpus; nonterminals
  uint32_t label = 0;                  // of the left-hand side
  std::vector<Link> links;             // between words, ordered by target, then source
  uint32_t siblings = 1;               // its count is 1 / siblings
};

// For one thread; reuses its buffers. O(initial phrases * (phrases inside)^2) at worst, in practice
// linear in the output.
class HieroExtractor {
 public:
  static constexpr uint64_t kMostSteps = uint64_t{1} << 33;  // some ten seconds
  explicit HieroExtractor(const HieroOptions& options, uint64_t most_steps = kMostSteps)
      : options_(options), most_steps_(most_steps) {}
  // InputError for a pair of more than `most_steps`: few aligned words allow very many phrases.
  // `labels`: of target spans; null: all labels are 0.
  void operator()(const SentencePair& pair,
                  const std::function<void(const HieroOccurrence&)>& visit,
                  SpanLabels* labels = nullptr);

 private:
  using Span = InitialPhrases::Span;
  struct Rule {
    uint32_t size = 0;
    Span holes[2];  // in the order of the source side
  };
  void collect(const Span& phrase);
  void add_rule(const Span& phrase, const Rule& rule);
  void fill(const SentencePair& pair, const Span& phrase, const Rule& rule);
  uint32_t label_of(const Span& span) const {
    return labels_ == nullptr ? 0 : labels_->of(span.e0, span.e1);
  }
  void count_steps(uint64_t steps);
  static constexpr uint8_t kHole = 0xff;
  static constexpr uint64_t kPollSteps = uint64_t{1} << 20;
  HieroOptions options_;
  uint64_t most_steps_;
  SpanLabels* labels_ = nullptr;
  InitialPhrases phrases_;
  std::vector<Span> all_;
  std::vector<std::vector<Span>> by_start_;           // initial phrases by their first source word
  std::vector<Span> inside_;                          // candidates for holes, by first source word
  std::vector<Rule> rules_;                           // of the current initial phrase
  std::vector<uint8_t> source_place_, target_place_;  // of the words of the phrase, or kHole
  HieroOccurrence occurrence_;
  uint64_t steps_ = 0;  // for the current pair: phrases compared and symbols written
};

}  // namespace hopefear::rules
