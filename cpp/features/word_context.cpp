#include "features/word_context.hpp"

namespace hopefear::features {
namespace {

class WordContext : public Template {
 public:
  WordContext(std::string name, ContextWords known)
      : name_(std::move(name)), known_(std::move(known)) {}
  const std::string& name() const override { return name_; }
  bool needs_gaps() const override { return true; }

  // Words before the first nonterminal and behind the last one: the span tells where they are.
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
      // The k-th nonterminal is -1-k; how far the word is behind the last one before it.
      int32_t place = link.source;
      while (place >= 0 && use.source_side[static_cast<size_t>(place)] >= 0) --place;
      if (place < 0 || place == link.source) continue;
      const auto gap = static_cast<size_t>(-1 - use.source_side[static_cast<size_t>(place)]);
      if (gap + 1 == use.gaps.size()) continue;  // behind the last one
      fire_link(use, link, use.gaps[gap].end + link.source - place - 1, sink);
    }
  }

 private:
  // `at`: where the link's source word is in the sentence.
  void fire_link(const RuleUse& use, const rules::Link& link, int32_t at, Sink& sink) const {
    const int32_t target = use.target_side[link.target];
    if (target < 0) return;
    const Vocabulary& words = *use.source->vocabulary;
    const std::span<const int32_t> sentence = use.source->words;
    std::string_view f = words.word(sentence[static_cast<size_t>(at)]), e = words.word(target);
    if (!known_.everything) {
      if (known_.by_pair) {
        if (!known_.pairs.has(f, e)) f = e = kOther;
      } else {
        if (!known_.source.has(f)) f = kOther;
        if (!known_.target.has(e)) e = kOther;
      }
    }
    const auto neighbour = [&](int32_t place) {
      if (place < 0) return std::string_view("<s>");
      if (place >= static_cast<int32_t>(sentence.size())) return std::string_view("</s>");
      const std::string_view word = words.word(sentence[static_cast<size_t>(place)]);
      return known_.everything || known_.source.has(word) ? word : kOther;
    };
    sink.add(name_, {"left", neighbour(at - 1), f, e}, 1);
    sink.add(name_, {"right", f, neighbour(at + 1), e}, 1);
  }

  std::string name_;
  ContextWords known_;
};

}  // namespace

std::shared_ptr<const Template> make_word_context(std::string name, ContextWords known) {
  return std::make_shared<WordContext>(std::move(name), std::move(known));
}

}  // namespace hopefear::features
