#include "features/target_bigrams.hpp"

#include <cstring>

namespace hopefear::features {
namespace {

constexpr int32_t kNone = -1, kBegin = -2, kEnd = -3;  // words are >= 0

// The outermost words; kNone, kNone of an empty string. 8 bytes, no padding.
struct Ends {
  int32_t first = kNone, last = kNone;
};

Ends load(const std::byte* state) {
  Ends ends;
  std::memcpy(&ends, state, sizeof ends);
  return ends;
}

class TargetBigrams : public Template {
 public:
  explicit TargetBigrams(std::string name) : name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
  size_t state_size() const override { return sizeof(Ends); }

  void begin(std::byte* state) const override {
    const Ends ends{kBegin, kBegin};
    std::memcpy(state, &ends, sizeof ends);
  }

  void step(const Step& step, Sink& sink, std::byte* state) const override {
    Ends made;
    // A word or a string of tails behind what there is so far.
    const auto append = [&](const Ends& next) {
      if (next.first == kNone) return;
      if (made.last == kNone) {
        made.first = next.first;
      } else {
        fire_pair(*step.source, made.last, next.first, sink);
      }
      made.last = next.last;
    };
    for (const int32_t symbol : step.target) {
      append(symbol >= 0 ? Ends{symbol, symbol}
                         : load(step.tails[static_cast<size_t>(-1 - symbol)]));
    }
    std::memcpy(state, &made, sizeof made);
  }

  void finish(const Source& source, const std::byte* state, bool begun, Sink& sink) const override {
    const Ends ends = load(state);
    if (ends.first == kNone) {
      fire_pair(source, kBegin, kEnd, sink);
      return;
    }
    if (!begun) fire_pair(source, kBegin, ends.first, sink);
    fire_pair(source, ends.last, kEnd, sink);
  }

 private:
  static std::string_view word(const Source& source, int32_t id) {
    return id == kBegin ? "<s>" : id == kEnd ? "</s>" : source.vocabulary->word(id);
  }

  void fire_pair(const Source& source, int32_t first, int32_t second, Sink& sink) const {
    std::string feature = name_;
    feature += ':';
    feature += word(source, first);
    feature += '|';
    feature += word(source, second);
    sink.add(feature, 1);
  }

  std::string name_;
};

}  // namespace

std::shared_ptr<const Template> make_target_bigrams(std::string name) {
  return std::make_shared<TargetBigrams>(std::move(name));
}

}  // namespace hopefear::features
