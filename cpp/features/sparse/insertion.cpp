// Target words that are linked to no source word: "NAME:e|f" with every source word f of the rule,
// or "NAME:e" alone. Thesis, equation 3.12 [eidelman2013]; Chiang 2009, section 4 [chiang2009]. A
// rule that is in no table fires nothing.
#include <bitset>

#include "features/registry.hpp"
#include "features/word_set.hpp"

namespace hopefear::features {
namespace {

class Insertion : public Template {
 public:
  Insertion(std::string name, Options& options)
      : Template(std::move(name)),
        words_(options.take<std::optional<WordSet>>("words")),
        with_source_(options.take<bool>("with_source")) {}
  bool needs_span() const override { return false; }

  void fire(const RuleUse& use, Sink& sink) const override {
    if (use.rule == kPassThrough) return;
    std::bitset<256> linked;  // positions of links have 8 bits
    for (const rules::Link& link : use.links) linked.set(link.target);
    const Vocabulary& words = *use.source->vocabulary;
    for (size_t j = 0; j < use.target_side.size(); ++j) {
      const int32_t e = use.target_side[j];
      if (e < 0 || (j < linked.size() && linked[j])) continue;
      if (words_.has_value() && !words_->has(words.word(e))) continue;
      if (!with_source_) {
        sink.add(this, key_of({e}), 1,
                 [&](std::string& name) { compose(name, name_, {words.word(e)}); });
        continue;
      }
      for (const int32_t f : use.source_side) {
        if (f < 0) continue;
        sink.add(this, key_of({e, f}), 1,
                 [&](std::string& name) { compose(name, name_, {words.word(e), words.word(f)}); });
      }
    }
  }

 private:
  std::optional<WordSet> words_;  // words that fire; no list: all
  bool with_source_;
};

const Registration<Insertion> registration("insertion");

}  // namespace
}  // namespace hopefear::features
