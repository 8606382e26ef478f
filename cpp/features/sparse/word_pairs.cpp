// Aligned word pairs, "NAME:f|e" for each link of the rule's inner alignment. Thesis, equation 3.11
// [eidelman2013]. A rule that is in no table fires nothing.
#include "features/registry.hpp"

namespace hopefear::features {
namespace {

class WordPairs : public Template {
 public:
  WordPairs(std::string name, Options&) : Template(std::move(name)) {}
  bool needs_span() const override { return false; }

  void fire(const RuleUse& use, Sink& sink) const override {
    if (use.rule == kPassThrough) return;
    const Vocabulary& words = *use.source->vocabulary;
    for (const rules::Link& link : use.links) {
      const int32_t f = use.source_side[link.source], e = use.target_side[link.target];
      if (f < 0 || e < 0) continue;
      sink.add(this, key_of({f, e}), 1,
               [&](std::string& name) { compose(name, name_, {words.word(f), words.word(e)}); });
    }
  }
};

const Registration<WordPairs> registration("word-pairs");

}  // namespace
}  // namespace hopefear::features
