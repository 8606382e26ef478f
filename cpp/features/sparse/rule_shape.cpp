// Words and nonterminals of the two sides, "NAME:01110|11010" with 1 for a word and 0 for a
// nonterminal. Thesis, equation 3.17 [eidelman2013]. A rule that is in no table fires nothing.
#include "features/registry.hpp"

namespace hopefear::features {
namespace {

class RuleShape : public Template {
 public:
  RuleShape(std::string name, Options& options)
      : Template(std::move(name)), runs_(options.take<bool>("runs")) {}
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

  const bool runs_;  // write consecutive words as a single 1
};

const Registration<RuleShape> registration("rule-shape");

}  // namespace
}  // namespace hopefear::features
