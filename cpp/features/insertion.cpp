#include "features/insertion.hpp"

#include <bitset>

namespace hopefear::features {
namespace {

class Insertion : public Template {
 public:
  Insertion(std::string name, std::unique_ptr<WordSet> words, bool with_source)
      : name_(std::move(name)), words_(std::move(words)), with_source_(with_source) {}
  const std::string& name() const override { return name_; }
  bool needs_span() const override { return false; }

  void fire(const RuleUse& use, Sink& sink) const override {
    if (use.rule == kPassThrough) return;
    std::bitset<256> linked;  // a link's places are 8 bits wide
    for (const rules::Link& link : use.links) linked.set(link.target);
    const Vocabulary& words = *use.source->vocabulary;
    for (size_t j = 0; j < use.target_side.size(); ++j) {
      const int32_t e = use.target_side[j];
      if (e < 0 || (j < linked.size() && linked[j])) continue;
      if (words_ != nullptr && !words_->has(words.word(e))) continue;
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
  std::string name_;
  std::unique_ptr<WordSet> words_;
  bool with_source_;
};

}  // namespace

std::shared_ptr<const Template> make_insertion(std::string name, std::unique_ptr<WordSet> words,
                                               bool with_source) {
  return std::make_shared<Insertion>(std::move(name), std::move(words), with_source);
}

}  // namespace hopefear::features
