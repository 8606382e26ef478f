// Aligned word pairs in context: "NAME:left|c|f|e" where the source word f is linked to e and c
// precedes f in the sentence, "NAME:right|f|c|e" where c follows f; <s> and
// </s> at the ends. Thesis, equation 3.14 [eidelman2013]; Chiang 2009, section 4 [chiang2009].
//
// c may be outside of the rule, so the features depend on the span, and for words between two
// nonterminals on the spans of these. A rule that is in no table fires nothing.
#include "features/registry.hpp"
#include "features/word_set.hpp"

namespace hopefear::features {
namespace {

using Pairs = std::vector<std::tuple<std::string, std::string>>;

std::optional<WordSet> set_of(const std::optional<Pairs>& pairs) {
  if (!pairs.has_value()) return {};
  WordSet set;
  for (const auto& [source, target] : *pairs) set.add(source, target);
  return set;
}

class WordContext : public Template {
 public:
  WordContext(std::string name, Options& options)
      : Template(std::move(name)),
        pairs_(set_of(options.take<std::optional<Pairs>>("pairs"))),
        source_(options.take<std::optional<WordSet>>("source")),
        target_(options.take<std::optional<WordSet>>("target")) {}
  bool needs_gaps() const override { return true; }

  // Words before the first nonterminal and after the last one: their positions follow from the
  // span.
  void fire(const RuleUse& use, Sink& sink) const override {
    if (use.rule == kPassThrough) return;
    const auto size = static_cast<int32_t>(use.source_side.size());
    int32_t first = 0, last = size - 1;
    while (first < size && use.source_side[static_cast<size_t>(first)] >= 0) ++first;
    while (last >= first && use.source_side[static_cast<size_t>(last)] >= 0) --last;
    for (const rules::Link& link : use.links) {
      const int32_t i = link.source;
      if (i < first) {
        fire_link(use, link, use.span.begin + i, sink);
      } else if (i > last) {
        fire_link(use, link, use.span.end - (size - i), sink);
      }
    }
  }

  // Words between nonterminals.
  void fire_gaps(const RuleUse& use, Sink& sink) const override {
    if (use.rule == kPassThrough || use.gaps.size() < 2) return;
    for (const rules::Link& link : use.links) {
      // The k-th nonterminal is -1-k; distance of the word from the preceding one.
      int32_t place = link.source;
      while (place >= 0 && use.source_side[static_cast<size_t>(place)] >= 0) --place;
      if (place < 0 || place == link.source) continue;
      const auto gap = static_cast<size_t>(-1 - use.source_side[static_cast<size_t>(place)]);
      if (gap + 1 == use.gaps.size()) continue;  // after the last nonterminal
      fire_link(use, link, use.gaps[gap].end + link.source - place - 1, sink);
    }
  }

 private:
  // `at`: position of the link's source word in the sentence.
  void fire_link(const RuleUse& use, const rules::Link& link, int32_t at, Sink& sink) const {
    const int32_t target = use.target_side[link.target];
    if (target < 0) return;
    const std::span<const int32_t> sentence = use.source->words;
    const auto last = static_cast<int32_t>(sentence.size()) - 1;
    const int32_t source = sentence[static_cast<size_t>(at)];
    const int32_t before = at == 0 ? kBegin : sentence[static_cast<size_t>(at) - 1];
    const int32_t after = at == last ? kEnd : sentence[static_cast<size_t>(at) + 1];
    sink.add(this, key_of({0, before, source, target}), 1, [&](std::string& name) {
      const auto [f, e] = pair(*use.source, source, target);
      compose(name, name_, {"left", neighbour(*use.source, before), f, e});
    });
    sink.add(this, key_of({1, after, source, target}), 1, [&](std::string& name) {
      const auto [f, e] = pair(*use.source, source, target);
      compose(name, name_, {"right", f, neighbour(*use.source, after), e});
    });
  }

  static constexpr int32_t kBegin = -1, kEnd = -2;  // words are >= 0

  static std::string_view known(const std::optional<WordSet>& words, std::string_view word) {
    return !words.has_value() || words->has(word) ? word : kOther;
  }

  std::pair<std::string_view, std::string_view> pair(const Source& sentence, int32_t source,
                                                     int32_t target) const {
    const std::string_view f = sentence.vocabulary->word(source);
    const std::string_view e = sentence.vocabulary->word(target);
    if (pairs_.has_value()) return pairs_->has(f, e) ? std::pair(f, e) : std::pair(kOther, kOther);
    return {known(source_, f), known(target_, e)};
  }

  std::string_view neighbour(const Source& sentence, int32_t word) const {
    if (word < 0) return word == kBegin ? "<s>" : "</s>";
    return known(source_, sentence.vocabulary->word(word));
  }

  // The words to distinguish, all others are <unk>; no list: all words. f and e are looked up as a
  // pair in `pairs_`, or separately without it; c in `source_`.
  std::optional<WordSet> pairs_, source_, target_;
};

const Registration<WordContext> registration("word-context");

}  // namespace
}  // namespace hopefear::features
