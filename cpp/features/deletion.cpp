#include "features/deletion.hpp"

#include <bitset>

namespace hopefear::features {
namespace {

class Deletion : public Template {
 public:
  Deletion(std::string name, std::unique_ptr<WordSet> words)
      : name_(std::move(name)), words_(std::move(words)) {}
  const std::string& name() const override { return name_; }
  bool needs_span() const override { return false; }

  void fire(const RuleUse& use, Sink& sink) const override {
    if (use.rule == kPassThrough) return;
    std::bitset<256> linked;  // a link's places are 8 bits wide
    for (const rules::Link& link : use.links) linked.set(link.source);
    for (size_t i = 0; i < use.source_side.size(); ++i) {
      const int32_t f = use.source_side[i];
      if (f < 0 || (i < linked.size() && linked[i])) continue;
      const std::string_view word = use.source->vocabulary->word(f);
      if (words_ != nullptr && !words_->has(word)) continue;
      sink.add(this, key_of({f}), 1, [&](std::string& name) { compose(name, name_, {word}); });
    }
  }

 private:
  std::string name_;
  std::unique_ptr<WordSet> words_;
};

}  // namespace

std::shared_ptr<const Template> make_deletion(std::string name, std::unique_ptr<WordSet> words) {
  return std::make_shared<Deletion>(std::move(name), std::move(words));
}

}  // namespace hopefear::features
