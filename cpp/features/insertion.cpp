#include "features/insertion.hpp"

#include <bitset>

namespace hopefear::features {
namespace {

class Insertion : public Template {
 public:
  Insertion(std::string name, std::unique_ptr<WordSet> words, bool with_source)
      : name_(std::move(name)), words_(std::move(words)), with_source_(with_source) {}
  const std::string& name() const override { return name_; }

  void fire(const RuleUse& use, Sink& sink) const override {
    if (use.rule == kPassThrough) return;
    std::bitset<256> linked;  // a link's places are 8 bits wide
    for (const rules::Link& link : use.links) linked.set(link.target);
    const Vocabulary& words = *use.source->vocabulary;
    for (size_t j = 0; j < use.target_side.size(); ++j) {
      if (use.target_side[j] < 0 || (j < linked.size() && linked[j])) continue;
      const std::string_view e = words.word(use.target_side[j]);
      if (words_ != nullptr && !words_->has(e)) continue;
      if (!with_source_) {
        sink.add(name_, {e}, 1);
        continue;
      }
      for (const int32_t f : use.source_side) {
        if (f >= 0) sink.add(name_, {e, words.word(f)}, 1);
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
