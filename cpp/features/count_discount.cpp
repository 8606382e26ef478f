#include "features/count_discount.hpp"

#include <cmath>
#include <sstream>

namespace hopefear::features {
namespace {

class CountDiscount : public Template {
 public:
  CountDiscount(std::string name, std::vector<int64_t> bins)
      : name_(std::move(name)), bins_(std::move(bins)) {
    int64_t first = 1;
    for (const int64_t last : bins_) {
      std::ostringstream bin;
      if (first == last) {
        bin << first;
      } else {
        bin << '[' << first << ',' << last << ']';
      }
      names_.push_back(bin.str());
      first = last + 1;
    }
    std::ostringstream rest;
    rest << '[' << first << ",)";
    names_.push_back(rest.str());
  }
  const std::string& name() const override { return name_; }
  bool needs_span() const override { return false; }

  void fire(const RuleUse& use, Sink& sink) const override {
    const double count = use.counts.joint;
    if (use.rule == kPassThrough || !(count > 0)) return;
    // Fractions add up to whole numbers only nearly.
    const double whole = std::ceil(count * (1 - 1e-6));
    size_t bin = 0;
    while (bin < bins_.size() && whole > static_cast<double>(bins_[bin])) ++bin;
    sink.add(this, bin, 1, [&](std::string& name) { compose(name, name_, {names_[bin]}); });
  }

 private:
  std::string name_;
  std::vector<int64_t> bins_;
  std::vector<std::string> names_;  // of the bins
};

}  // namespace

std::shared_ptr<const Template> make_count_discount(std::string name, std::vector<int64_t> bins) {
  return std::make_shared<CountDiscount>(std::move(name), std::move(bins));
}

}  // namespace hopefear::features
