#include "features/structural_distortion.hpp"

#include <algorithm>
#include <vector>

namespace hopefear::features {
namespace {

class StructuralDistortion : public Template {
 public:
  StructuralDistortion(std::string name, int32_t longest) {
    name_ = std::move(name);
    for (int32_t width = 1; width <= longest; ++width) widths_.push_back(std::to_string(width));
  }
  const std::string& name() const override { return name_; }
  bool needs_span() const override { return false; }
  bool needs_gaps() const override { return true; }

  void fire_gaps(const RuleUse& use, Sink& sink) const override {
    for (size_t k = 0; k < use.gaps.size(); ++k) {
      const auto width = static_cast<size_t>(use.gaps[k].end - use.gaps[k].begin);
      if (width == 0) continue;
      const bool moved = is_reordered(use, k);
      const size_t bin = std::min(width, widths_.size()) - 1;
      sink.add(this, 2 * bin + (moved ? 1 : 0), 1, [&](std::string& name) {
        compose(name, name_, {moved ? "reordered" : "monotone", widths_[bin]});
      });
    }
  }

 private:
  static size_t place(std::span<const int32_t> side, size_t gap) {
    const auto symbol = -1 - static_cast<int32_t>(gap);
    return static_cast<size_t>(std::find(side.begin(), side.end(), symbol) - side.begin());
  }

  // A point (source place, target place) crosses the nonterminal's if it is before it on one side
  // and behind it on the other.
  static bool is_reordered(const RuleUse& use, size_t gap) {
    const size_t source = place(use.source_side, gap), target = place(use.target_side, gap);
    const auto crosses = [&](size_t i, size_t j) {
      return (i < source && j > target) || (i > source && j < target);
    };
    for (size_t k = 0; k < use.gaps.size(); ++k) {
      if (crosses(place(use.source_side, k), place(use.target_side, k))) return true;
    }
    return std::any_of(use.links.begin(), use.links.end(),
                       [&](const rules::Link& link) { return crosses(link.source, link.target); });
  }

  std::string name_;
  std::vector<std::string> widths_;
};

}  // namespace

std::shared_ptr<const Template> make_structural_distortion(std::string name, int32_t longest) {
  return std::make_shared<StructuralDistortion>(std::move(name), longest);
}

}  // namespace hopefear::features
