// Fertilities: how many words each word generates [brown1993].
//
// The distribution of a word has a Dirichlet prior whose mean is the distribution of all words of
// its side, so a rare word is like the average word. Inference uses ratios p(n + 1) / p(n): what it
// costs a word that is expected to generate n other words to generate one more.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace hopefear::align {

inline constexpr size_t kFertilities = 8;  // 0 to 6, and all above, which is all but ruled out

// Adds to `counts` the distribution of the number of words that are generated, for links of these
// probabilities that are independent of each other.
class FertilityDistribution {
 public:
  void add_link(float probability);
  const std::array<float, kFertilities>& values() const { return p_; }

 private:
  std::array<float, kFertilities> p_ = {1};
  size_t last_ = 0;  // the largest possible one
};

class Fertilities {
 public:
  using Counts = std::vector<std::array<double, kFertilities>>;  // by word

  // Every ratio is 1, for `words` words and for an unknown one, whose number is `words`.
  explicit Fertilities(size_t words = 0);
  // Estimates the ratios; `strength` is the number of pseudo-observations of the prior.
  void update(const Counts& counts, double strength);
  // The ratio of a word at an expected number of other words, between whole numbers by linear
  // interpolation.
  float ratio(size_t word, float others) const {
    const auto& ratios = ratios_[word];
    if (others >= static_cast<float>(kFertilities - 2)) return ratios[kFertilities - 2];
    const auto below = static_cast<size_t>(others);
    const float part = others - static_cast<float>(below);
    return ratios[below] + part * (ratios[below + 1] - ratios[below]);
  }

  using Ratios = std::array<float, kFertilities - 1>;
  const std::vector<Ratios>& ratios() const { return ratios_; }
  void set(std::vector<Ratios> ratios) { ratios_ = std::move(ratios); }

 private:
  std::vector<Ratios> ratios_;
};

}  // namespace hopefear::align
