// The identity of the rule: "NAME:[1]_la_position_de_[2]|[1]_the_position_of_[2]". Thesis,
// equation 3.15 [eidelman2013]. A rule that is in no table fires nothing.
#include "features/registry.hpp"
#include "features/rule_text.hpp"

namespace hopefear::features {
namespace {

class RuleId : public Template {
 public:
  RuleId(std::string name, Options&) : Template(std::move(name)) {}
  bool needs_span() const override { return false; }

  void fire(const RuleUse& use, Sink& sink) const override {
    if (use.rule == kPassThrough) return;
    sink.add_once(1, [&](std::string& text) {
      text += name_;
      append_rule(use, ':', text);
    });
  }
};

const Registration<RuleId> registration("rule-id");

}  // namespace
}  // namespace hopefear::features
