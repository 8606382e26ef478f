#include "features/word_pairs.hpp"

namespace hopefear::features {
namespace {

class WordPairs : public Template {
 public:
  explicit WordPairs(std::string name) : name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
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

 private:
  std::string name_;
};

}  // namespace

std::shared_ptr<const Template> make_word_pairs(std::string name) {
  return std::make_shared<WordPairs>(std::move(name));
}

}  // namespace hopefear::features
