#include "features/rule_history.hpp"

#include <array>
#include <cstring>

#include "features/rule_id.hpp"

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
  RuleHistory(std::string name, std::vector<Level> levels, WordClasses classes)
      : name_(std::move(name)), levels_(std::move(levels)), classes_(std::move(classes)) {}
  const std::string& name() const override { return name_; }
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
    const Vocabulary& vocabulary = *step.source->vocabulary;
    std::array<std::string_view, 2> words;
    for (size_t i = 0; i < 2; ++i) words[i] = before[i] < 0 ? "<s>" : vocabulary.word(before[i]);
    sink.add_all(1, 2 * levels_.size(), [&](size_t i, std::string& text) {
      const Level level = levels_[i / 2];
      text += name_;
      text += ':';
      text += level_name(level);
      append_rule(*step.use, '|', text);
      for (size_t word = i % 2; word < 2; ++word) {
        text += '|';
        text += before[word] < 0 ? words[word] : classes_.at(words[word], level);
      }
      return true;
    });
  }

 private:
  std::string name_;
  std::vector<Level> levels_;
  WordClasses classes_;
};

}  // namespace

std::shared_ptr<const Template> make_rule_history(std::string name, std::vector<Level> levels,
                                                  WordClasses classes) {
  return std::make_shared<RuleHistory>(std::move(name), std::move(levels), std::move(classes));
}

}  // namespace hopefear::features
