// Simple Good-Turing discounting of counts. [gale1995]
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace hopefear::rules {

class GoodTuring {
 public:
  // `counts`: how many types were seen r times, by r. Turing's estimate is used for small r, until
  // a step where it does not differ from a line through the logs of smoothed counts; that line
  // beyond. Estimates of seen types are normalised to leave n1 / N for the unseen.
  explicit GoodTuring(const std::map<uint64_t, uint64_t>& counts);
  // The discounted count of a type seen r times; at most r. Without enough different counts it is
  // r.
  double operator()(uint64_t r) const;

 private:
  double smoothed(uint64_t r) const;  // number of types seen r times, by the line
  double estimate(uint64_t r) const;
  std::map<uint64_t, uint64_t> counts_;
  double slope_ = 0, intercept_ = 0, scale_ = 1;
  uint64_t switch_at_ = 0;  // from here on the line is used; 0: no discounting
};

}  // namespace hopefear::rules
