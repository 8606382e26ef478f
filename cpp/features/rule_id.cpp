#include "features/rule_id.hpp"

namespace hopefear::features {
namespace {

void append_side(const Vocabulary& words, std::span<const int32_t> side, char before,
                 std::string& text) {
  for (const int32_t symbol : side) {
    text += before;
    before = '_';
    if (symbol >= 0) {
      text += words.word(symbol);
    } else {
      text += '[';
      text += std::to_string(-symbol);
      text += ']';
    }
  }
  if (side.empty()) text += before;
}

class RuleId : public Template {
 public:
  explicit RuleId(std::string name) : name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
  bool needs_span() const override { return false; }

  void fire(const RuleUse& use, Sink& sink) const override {
    if (use.rule == kPassThrough) return;
    sink.add_once(1, [&](std::string& text) {
      text += name_;
      append_rule(use, ':', text);
    });
  }

 private:
  std::string name_;
};

}  // namespace

void append_rule(const RuleUse& use, char separator, std::string& text) {
  append_side(*use.source->vocabulary, use.source_side, separator, text);
  append_side(*use.source->vocabulary, use.target_side, '|', text);
}

std::shared_ptr<const Template> make_rule_id(std::string name) {
  return std::make_shared<RuleId>(std::move(name));
}

}  // namespace hopefear::features
