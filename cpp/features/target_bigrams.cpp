#include "features/target_bigrams.hpp"

#include <cstring>

namespace hopefear::features {
namespace {

constexpr int32_t kNone = -1, kBegin = -2, kEnd = -3, kUnlisted = -4;  // words are >= 0

// The outermost words; kNone, kNone of an empty string. 8 bytes, no padding.
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
  TargetBigrams(std::string name, std::unique_ptr<WordSet> words)
      : name_(std::move(name)), words_(std::move(words)) {}
  const std::string& name() const override { return name_; }
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
    // All neighbours but two words, which fire() has seen to.
    Ends made;
    bool in_rule = false;
    for (size_t j = 0; j < step.target.size(); ++j) {
      const int32_t symbol = step.target[j];
      const bool word = symbol >= 0;
      // Words between words: nobody sees them from outside.
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
  // The word itself, or one number for all that are on no list: their states are equal then.
  int32_t known(const Source& source, int32_t word) const {
    return words_ == nullptr || words_->has(source.vocabulary->word(word)) ? word : kUnlisted;
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

  std::string name_;
  std::unique_ptr<WordSet> words_;
};

}  // namespace

std::shared_ptr<const Template> make_target_bigrams(std::string name,
                                                    std::unique_ptr<WordSet> words) {
  return std::make_shared<TargetBigrams>(std::move(name), std::move(words));
}

}  // namespace hopefear::features
