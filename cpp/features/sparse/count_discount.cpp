// The training count of the rule: "NAME:2" for a bin of one number, "NAME:[4,5]" for one
// of several, "NAME:[101,)" beyond the last. Chiang 2009, section 4 [chiang2009]. A rule that is in
// no table, or in one without counts, fires nothing.
//
// Differs: counts may be fractions if extraction divides counts among rules; they are rounded up,
// so that counts below 1 are in the first bin.
#include <cmath>
#include <sstream>

#include "features/registry.hpp"

namespace hopefear::features {
namespace {

class CountDiscount : public Template {
 public:
  CountDiscount(std::string name, Options& options)
      : Template(std::move(name)), bins_(options.take<std::vector<int64_t>>("bins")) {
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
  bool needs_span() const override { return false; }

  void fire(const RuleUse& use, Sink& sink) const override {
    const double count = use.counts.joint;
    if (use.rule == kPassThrough || !(count > 0)) return;
    // Tolerance: sums of fractions are whole numbers only approximately.
    const double whole = std::ceil(count * (1 - 1e-6));
    size_t bin = 0;
    while (bin < bins_.size() && whole > static_cast<double>(bins_[bin])) ++bin;
    sink.add(this, bin, 1, [&](std::string& name) { compose(name, name_, {names_[bin]}); });
  }

 private:
  std::vector<int64_t> bins_;       // the largest count of each bin, ascending from 1 or more
  std::vector<std::string> names_;  // of the bins
};

const Registration<CountDiscount> registration("count-discount");

}  // namespace
}  // namespace hopefear::features
