// A rule with the preceding two target words, or one, at several levels of back-off:
// "NAME:LEVEL|SOURCE|TARGET|word|word".  [yu2013] For left-to-right search only.
#include <array>
#include <cstring>

#include "base/error.hpp"
#include "features/registry.hpp"
#include "features/rule_text.hpp"
#include "features/word_classes.hpp"

namespace hopefear::features {
namespace {

constexpr int32_t kBegin = -1;  // words are >= 0

using History = std::array<int32_t, 2>;  // the last word but one, the last word

History load(const std::byte* state) {
  History history;
  std::memcpy(history.data(), state, sizeof history);
  return history;
}

void store(const History& history, std::byte* state) {
  std::memcpy(state, history.data(), sizeof history);
}

class RuleHistory : public Template {
 public:
  RuleHistory(std::string name, Options& options)
      : Template(std::move(name)), classes_(options.take<WordClasses>("words")) {
    const auto levels = options.take<std::string>("levels");
    for (const char level : levels) {
      const size_t at = kLevelNames.find(level);
      if (at == std::string_view::npos) {
        options.fail("levels", "found " + shown(levels), "some of " + std::string(kLevelNames));
      }
      levels_.push_back(static_cast<Level>(at));
    }
  }
  size_t state_size() const override { return sizeof(History); }
  bool left_to_right_only() const override { return true; }

  void begin(std::byte* state) const override { store({kBegin, kBegin}, state); }

  void step(const Step& step, Sink& sink, std::byte* state) const override {
    const History before = load(step.tails.front());
    History after = before;
    for (const int32_t symbol : step.target) {
      if (symbol >= 0) after = {after[1], symbol};
    }
    store(after, state);
    if (step.use == nullptr || step.use->rule == kPassThrough) return;
    // Both parts of a name are composed once per sentence: composing and hashing the complete name
    // in every step took a fifth of the time of learning from the bitext with all features.
    const auto& rule = sink.prefixes(this, static_cast<uint64_t>(step.use->rule), levels_.size(),
                                     [&](size_t i, auto& text) {
                                       text += name_;
                                       text += ':';
                                       text += level_name(levels_[i]);
                                       append_rule(*step.use, '|', text);
                                     });
    const auto& history = sink.tails(
        this, key_of({before[0], before[1]}), 2 * levels_.size(), [&](size_t i, auto& text) {
          for (size_t word = i % 2; word < 2; ++word) {
            text += '|';
            text += before[word] < 0
                        ? std::string_view("<s>")
                        : classes_.at(step.source->vocabulary->word(before[word]), levels_[i / 2]);
          }
        });
    sink.add_all(1, rule, history);
  }

 private:
  std::vector<Level> levels_;  // of words, clusters and tags
  WordClasses classes_;        // of target words
};

const Registration<RuleHistory> registration("rule-history");

}  // namespace
}  // namespace hopefear::features
