// The number of words that each nonterminal covers and whether the rule reorders it:
// "NAME:reordered|4", "NAME:monotone|2". Thesis, equation 3.16 [eidelman2013]; Chiang 2009, section
// 4 [chiang2009]. A nonterminal is reordered if it crosses another nonterminal or a linked word of
// the rule.
#include <algorithm>
#include <array>
#include <vector>

#include "features/registry.hpp"

namespace hopefear::features {
namespace {

class StructuralDistortion : public Template {
 public:
  // Wider nonterminals count as `longest` words.
  StructuralDistortion(std::string name, Options& options) : Template(std::move(name)) {
    const auto longest = options.take<int64_t>("longest");
    for (int64_t width = 1; width <= longest; ++width) widths_.push_back(std::to_string(width));
  }
  bool needs_span() const override { return false; }
  bool needs_gaps() const override { return true; }

  void fire_gaps(const RuleUse& use, Sink& sink) const override {
    const Places places = places_of(use);
    for (size_t k = 0; k < use.gaps.size(); ++k) {
      const auto width = static_cast<size_t>(use.gaps[k].end - use.gaps[k].begin);
      if (width == 0) continue;
      const bool moved = is_reordered(use, places, k);
      const size_t bin = std::min(width, widths_.size()) - 1;
      sink.add(this, 2 * bin + (moved ? 1 : 0), 1, [&](std::string& name) {
        compose(name, name_, {moved ? "reordered" : "monotone", widths_[bin]});
      });
    }
  }

 private:
  // The positions of the k-th nonterminal in the two sides. Called once per edge of a chart.
  static constexpr size_t kMost = 64;  // no rule has more
  struct Places {
    std::array<uint32_t, kMost> source, target;
  };
  static Places places_of(const RuleUse& use) {
    Places places;
    const auto fill = [](std::span<const int32_t> side, std::array<uint32_t, kMost>& into) {
      for (uint32_t at = 0; at < side.size(); ++at) {
        if (side[at] < 0) into[static_cast<size_t>(-1 - side[at]) % kMost] = at;
      }
    };
    fill(use.source_side, places.source);
    fill(use.target_side, places.target);
    return places;
  }

  // A point (source position, target position) crosses the nonterminal if it is before it on one
  // side and after it on the other.
  static bool is_reordered(const RuleUse& use, const Places& places, size_t gap) {
    const uint32_t source = places.source[gap], target = places.target[gap];
    const auto crosses = [&](uint32_t i, uint32_t j) {
      return (i < source && j > target) || (i > source && j < target);
    };
    for (size_t k = 0; k < use.gaps.size(); ++k) {
      if (crosses(places.source[k], places.target[k])) return true;
    }
    return std::any_of(use.links.begin(), use.links.end(),
                       [&](const rules::Link& link) { return crosses(link.source, link.target); });
  }

  std::vector<std::string> widths_;
};

const Registration<StructuralDistortion> registration("structural-distortion");

}  // namespace
}  // namespace hopefear::features
