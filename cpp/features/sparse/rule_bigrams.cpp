// Pairs of adjacent rules, "NAME:SOURCE|TARGET+SOURCE|TARGET": in phrase search two consecutive
// rules, the earlier one first; in chart parsing a rule and one that fills its gap, the inner one
// first.  [yu2013]
#include <cstring>

#include "features/registry.hpp"
#include "features/rule_text.hpp"

namespace hopefear::features {
namespace {

// The number of the last rule's text; kNone after an edge without a rule (glue), kBegin at the
// beginning.
constexpr int32_t kNone = -1, kBegin = -2;

int32_t load(const std::byte* state) {
  int32_t label;
  std::memcpy(&label, state, sizeof label);
  return label;
}

void store(int32_t label, std::byte* state) { std::memcpy(state, &label, sizeof label); }

class RuleBigrams : public Template {
 public:
  RuleBigrams(std::string name, Options&) : Template(std::move(name)) {}
  size_t state_size() const override { return sizeof(int32_t); }

  void begin(std::byte* state) const override { store(kBegin, state); }

  void step(const Step& step, Sink& sink, std::byte* state) const override {
    const int32_t own = label(step, sink);
    store(own, state);
    if (own == kNone) return;
    for (const std::byte* tail : step.tails) {
      const int32_t other = load(tail);
      if (other == kNone) continue;
      sink.add(this, key_of({other, own}), 1, [&](std::string& text) {
        text += name_;
        text += ':';
        text += other == kBegin ? "<s>" : text_of(*step.source, other);
        text += '+';
        text += text_of(*step.source, own);
      });
    }
  }

  void finish(const Source& source, const std::byte* state, bool begun, Sink& sink) const override {
    const int32_t last = load(state);
    if (!begun || last < 0) return;
    sink.add(this, key_of({last, kNone}), 1, [&](std::string& text) {
      text += name_;
      text += ':';
      text += text_of(source, last);
      text += "+</s>";
    });
  }

 private:
  int32_t label(const Step& step, Sink& sink) const {
    if (step.use == nullptr || step.use->rule == kPassThrough) return kNone;
    return sink.number(this, static_cast<uint64_t>(step.use->rule), [&](std::string& text) {
      append_rule(*step.use, kMark, text);
      return step.source->vocabulary->intern(text);
    });
  }
  static std::string_view text_of(const Source& source, int32_t label) {
    return source.vocabulary->word(label).substr(1);
  }

  static constexpr char kMark = '\x01';  // distinguishes rule texts from words of a sentence
};

const Registration<RuleBigrams> registration("rule-bigrams");

}  // namespace
}  // namespace hopefear::features
