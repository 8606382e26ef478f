// An example of a stateful template, to be copied: bigrams of the target, "NAME:first|second"
// for each pair of neighbours, with <s> and </s> at the ends. The value is the count. Thesis,
// equation 3.13 [eidelman2013].
//
// A copy must ensure that the state has all that later steps need (here the outermost words), that
// step() works for any number of tails, and that the two ends of the sentence fire exactly once,
// whether the state started with begin() or not. Features of a rule that do not depend on its
// context, here the bigrams within the rule, belong in fire(), which is not called in the inner
// loop of search.
#include <cstring>

#include "features/registry.hpp"
#include "features/word_set.hpp"

namespace hopefear::features {
namespace {

constexpr int32_t kNone = -1, kBegin = -2, kEnd = -3, kUnlisted = -4;  // words are >= 0

// The outermost words; (kNone, kNone) for an empty string. 8 bytes, no padding.
struct Ends {
  int32_t first = kNone, last = kNone;
};

Ends load(const std::byte* state) {
  Ends ends;
  std::memcpy(&ends, state, sizeof ends);
  return ends;
}

class TargetBigrams : public Template {
 public:
  TargetBigrams(std::string name, Options& options)
      : Template(std::move(name)), words_(options.take<std::optional<WordSet>>("words")) {}
  bool needs_span() const override { return false; }
  size_t state_size() const override { return sizeof(Ends); }
  bool needs_use() const override { return false; }

  // Neighbours within the rule.
  void fire(const RuleUse& use, Sink& sink) const override {
    for (size_t j = 1; j < use.target_side.size(); ++j) {
      const int32_t first = use.target_side[j - 1], second = use.target_side[j];
      if (first < 0 || second < 0) continue;
      fire_pair(*use.source, known(*use.source, first), known(*use.source, second), sink);
    }
  }

  void begin(std::byte* state) const override {
    const Ends ends{kBegin, kBegin};
    std::memcpy(state, &ends, sizeof ends);
  }

  void step(const Step& step, Sink& sink, std::byte* state) const override {
    // All pairs of neighbours except two words of the rule, which fire() adds.
    Ends made;
    bool in_rule = false;
    for (size_t j = 0; j < step.target.size(); ++j) {
      const int32_t symbol = step.target[j];
      const bool word = symbol >= 0;
      // Inner words are not part of the state.
      if (word && in_rule && j + 1 < step.target.size() && step.target[j + 1] >= 0) continue;
      Ends next;
      if (word) {
        next.first = next.last = known(*step.source, symbol);
      } else {
        next = load(step.tails[static_cast<size_t>(-1 - symbol)]);
        in_rule = false;
        if (next.first == kNone) continue;
      }
      if (made.last == kNone) {
        made.first = next.first;
      } else if (!(word && in_rule)) {
        fire_pair(*step.source, made.last, next.first, sink);
      }
      made.last = next.last;
      in_rule = word;
    }
    std::memcpy(state, &made, sizeof made);
  }

  void finish(const Source& source, const std::byte* state, bool begun, Sink& sink) const override {
    const Ends ends = load(state);
    if (ends.first == kNone) {
      fire_pair(source, kBegin, kEnd, sink);
      return;
    }
    if (!begun) fire_pair(source, kBegin, ends.first, sink);
    fire_pair(source, ends.last, kEnd, sink);
  }

 private:
  // The word itself, or a common number for words on no list, which makes their states equal.
  int32_t known(const Source& source, int32_t word) const {
    return !words_.has_value() || words_->has(source.vocabulary->word(word)) ? word : kUnlisted;
  }

  static std::string_view text(const Source& source, int32_t id) {
    if (id >= 0) return source.vocabulary->word(id);
    return id == kBegin ? "<s>" : id == kEnd ? "</s>" : kOther;
  }

  void fire_pair(const Source& source, int32_t first, int32_t second, Sink& sink) const {
    sink.add(this, key_of({first, second}), 1, [&](std::string& name) {
      compose(name, name_, {text(source, first), text(source, second)});
    });
  }

  std::optional<WordSet> words_;  // words to distinguish, all others are <unk>; no list: all words
};

const Registration<TargetBigrams> registration("target-bigrams");

}  // namespace
}  // namespace hopefear::features
