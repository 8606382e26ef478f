// Source words that are linked to no target word, "NAME:f" each. Thesis, 3.4.3 [eidelman2013]. A
// rule that is in no table fires nothing.
#include <bitset>

#include "features/registry.hpp"
#include "features/word_set.hpp"

namespace hopefear::features {
namespace {

class Deletion : public Template {
 public:
  Deletion(std::string name, Options& options)
      : Template(std::move(name)), words_(options.take<std::optional<WordSet>>("words")) {}
  bool needs_span() const override { return false; }

  void fire(const RuleUse& use, Sink& sink) const override {
    if (use.rule == kPassThrough) return;
    std::bitset<256> linked;  // positions of links have 8 bits
    for (const rules::Link& link : use.links) linked.set(link.source);
    for (size_t i = 0; i < use.source_side.size(); ++i) {
      const int32_t f = use.source_side[i];
      if (f < 0 || (i < linked.size() && linked[i])) continue;
      const std::string_view word = use.source->vocabulary->word(f);
      if (words_.has_value() && !words_->has(word)) continue;
      sink.add(this, key_of({f}), 1, [&](std::string& name) { compose(name, name_, {word}); });
    }
  }

 private:
  std::optional<WordSet> words_;  // words that fire; no list: all
};

const Registration<Deletion> registration("deletion");

}  // namespace
}  // namespace hopefear::features
