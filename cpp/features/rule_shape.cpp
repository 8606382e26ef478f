#include "features/rule_shape.hpp"

namespace hopefear::features {
namespace {

class RuleShape : public Template {
 public:
  RuleShape(std::string name, bool runs) : name_(std::move(name)), runs_(runs) {}
  const std::string& name() const override { return name_; }
  bool needs_span() const override { return false; }

  void fire(const RuleUse& use, Sink& sink) const override {
    if (use.rule == kPassThrough) return;
    uint64_t key = 0;
    for (const int32_t symbol : use.source_side) key = combine64(key, symbol >= 0 ? 1 : 0);
    key = combine64(key, 2);
    for (const int32_t symbol : use.target_side) key = combine64(key, symbol >= 0 ? 1 : 0);
    sink.add(this, key, 1, [&](std::string& text) {
      text += name_;
      append(use.source_side, ':', text);
      append(use.target_side, '|', text);
    });
  }

 private:
  void append(std::span<const int32_t> side, char before, std::string& text) const {
    text += before;
    for (size_t i = 0; i < side.size(); ++i) {
      if (runs_ && i > 0 && side[i] >= 0 && side[i - 1] >= 0) continue;
      text += side[i] >= 0 ? '1' : '0';
    }
  }

  std::string name_;
  bool runs_;
};

}  // namespace

std::shared_ptr<const Template> make_rule_shape(std::string name, bool runs) {
  return std::make_shared<RuleShape>(std::move(name), runs);
}

}  // namespace hopefear::features
