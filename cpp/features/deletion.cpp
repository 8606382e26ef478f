#include "features/deletion.hpp"

#include <bitset>

namespace hopefear::features {
namespace {

class Deletion : public Template {
 public:
  Deletion(std::string name, std::unique_ptr<WordSet> words)
      : name_(std::move(name)), words_(std::move(words)) {}
  const std::string& name() const override { return name_; }

  void fire(const RuleUse& use, Sink& sink) const override {
    if (use.rule == kPassThrough) return;
    std::bitset<256> linked;  // a link's places are 8 bits wide
    for (const rules::Link& link : use.links) linked.set(link.source);
    for (size_t i = 0; i < use.source_side.size(); ++i) {
      if (use.source_side[i] < 0 || (i < linked.size() && linked[i])) continue;
      const std::string_view f = use.source->vocabulary->word(use.source_side[i]);
      if (words_ == nullptr || words_->has(f)) sink.add(name_, {f}, 1);
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
