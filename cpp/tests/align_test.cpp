#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "align/fertility.hpp"
#include "align/kernels.hpp"
#include "align/similarity.hpp"
#include "tests/test.hpp"

namespace hopefear::align {
namespace {

using Floats = std::vector<float>;

// Probabilities of very different sizes: sums of them show any other order of additions.
void fill(Floats& values, size_t first, size_t last, std::mt19937& random) {
  for (size_t n = first; n < last; ++n) {
    const float mantissa = 1 + static_cast<float>(random() % 1000) / 1000;
    values[n] = std::ldexp(mantissa, -static_cast<int>(random() % 30));
  }
}

bool same_bits(const Floats& a, const Floats& b) {
  for (size_t n = 0; n < a.size(); ++n) {
    if (std::bit_cast<uint32_t>(a[n]) != std::bit_cast<uint32_t>(b[n])) return false;
  }
  return a.size() == b.size();
}

// On a machine with AVX2 `kernels()` is another function than `plain_kernels()`; elsewhere this
// compares one with itself.
TEST(kernels_of_every_machine_give_the_same_bits) {
  std::mt19937 random(7);
  for (size_t n = 1; n <= 70; n += n < 20 ? 1 : 7) {
    for (const size_t window : {size_t{1}, size_t{5}, n}) {
      constexpr size_t kMargin = 32;
      Floats w(2 * (window + kMargin) + 1), x(padded(n));
      fill(w, kMargin, kMargin + 2 * window + 1, random);
      fill(x, 0, n, random);
      const float* centre = w.data() + kMargin + window;
      Floats found(padded(n)), plain(padded(n));
      kernels().convolve(centre, x.data(), n, window, found.data());
      plain_kernels().convolve(centre, x.data(), n, window, plain.data());
      CHECK(same_bits(found, plain));
      for (size_t i = 0; i < n; ++i) {
        double expected = 0;
        for (size_t k = 0; k < n; ++k) {
          const auto d = static_cast<ptrdiff_t>(i) - static_cast<ptrdiff_t>(k);
          if (static_cast<size_t>(std::abs(d)) <= window) expected += centre[d] * x[k];
        }
        CHECK(std::abs(plain[i] - expected) <= 1e-5 * expected);
      }

      const size_t rows = 1 + n % 5, stride = padded(n), reach = stride + kLane;
      Floats a(rows * stride), b(rows * stride);
      for (size_t j = 0; j < rows; ++j) {
        fill(a, j * stride, j * stride + n, random);
        fill(b, j * stride, j * stride + n, random);
      }
      Floats count(2 * reach + 1 + kLane), plain_count(count.size());
      kernels().correlate(a.data(), b.data(), rows, stride, n, window, count.data() + reach);
      plain_kernels().correlate(a.data(), b.data(), rows, stride, n, window,
                                plain_count.data() + reach);
      CHECK(same_bits(count, plain_count));
    }
  }
}

// The longest common subsequence by the usual table.
size_t common(const Spelling& a, const Spelling& b) {
  std::vector<std::vector<size_t>> best(a.letters.size() + 1,
                                        std::vector<size_t>(b.letters.size() + 1));
  for (size_t i = 1; i <= a.letters.size(); ++i) {
    for (size_t j = 1; j <= b.letters.size(); ++j) {
      best[i][j] = a.letters[i - 1] == b.letters[j - 1] ? best[i - 1][j - 1] + 1
                                                        : std::max(best[i - 1][j], best[i][j - 1]);
    }
  }
  return best.back().back();
}

TEST(similarity_is_the_share_of_the_longest_common_subsequence) {
  std::mt19937 random(3);
  for (int n = 0; n < 2000; ++n) {
    std::string words[2];
    for (std::string& word : words) {
      const size_t length = 1 + random() % (n % 10 == 0 ? 70 : 12);
      for (size_t i = 0; i < length; ++i) word += static_cast<char>('a' + random() % 3);
    }
    const Spelling a(words[0]), b(words[1]);
    const double shorter = static_cast<double>(std::min(words[0].size(), words[1].size()));
    const double longer = static_cast<double>(std::max(words[0].size(), words[1].size()));
    const bool comparable = shorter >= 4 && longer <= 64 && shorter >= kSimilar * longer;
    const double expected = comparable ? static_cast<double>(common(a, b)) / longer : 0;
    CHECK(similarity(a, b) == expected);
    CHECK(similarity(b, a) == expected);
  }
}

TEST(similarity_compares_letters_not_bytes) {
  // Cyrillic letters share their first bytes.
  CHECK(similarity(Spelling("\u0430\u0431\u0432\u0433"), Spelling("\u0434\u0435\u0436\u0437")) ==
        0);
  CHECK(similarity(Spelling("\u0430\u0431\u0432\u0433"), Spelling("\u0430\u0431\u0432\u0437")) ==
        0.75);
  CHECK(Spelling("4,000").digits == "4000");
  CHECK(Spelling("\u6708").letters.size() == 1);
  CHECK(!Spelling("\xff\xfe").letters.empty());
}

TEST(similar_words_have_pseudo_links) {
  WordNumbers source, target;
  for (const char* word : {"ministers", "22\u65e5", ",", "of"}) source.add(word);
  for (const char* word : {"ministres", "22nd", ",", "off"}) target.add(word);
  const Similarity similarity(source, target, 0.5);
  const std::vector<uint32_t> all = {0, 1, 2, 3};
  for (uint32_t s = 0; s < 4; ++s) {
    std::vector<float> links(4);
    similarity.pseudo_links(s, all, links.data());
    for (uint32_t t = 0; t < 4; ++t) CHECK(links[t] == (s == t && s < 3 ? 0.5F : 0.0F));
  }
}

TEST(fertilities_are_sums_of_independent_links) {
  FertilityDistribution distribution;
  for (int n = 0; n < 10; ++n) distribution.add_link(0.5F);
  double binomial = 1.0 / 1024, sum = 0, rest = 1;
  for (size_t n = 0; n + 1 < kFertilities; ++n) {
    CHECK(std::abs(distribution.values()[n] - binomial) < 1e-5);
    rest -= binomial;
    binomial *= static_cast<double>(10 - n) / static_cast<double>(n + 1);
  }
  for (const float p : distribution.values()) sum += p;
  CHECK(std::abs(distribution.values().back() - rest) < 1e-5);
  CHECK(std::abs(sum - 1) < 1e-5);
}

TEST(a_rare_word_has_the_fertilities_of_all_words) {
  Fertilities fertilities(2);
  CHECK(fertilities.ratio(0, 0.5F) == 1);
  // The first word always generates one word, the second was never seen.
  fertilities.update({{0, 1000, 0, 0, 0, 0, 0, 0}, {}}, 5);
  CHECK(fertilities.ratio(0, 0) > 100);
  CHECK(fertilities.ratio(0, 1) < 0.01F);
  const float unknown = fertilities.ratio(2, 1);
  CHECK(std::abs(fertilities.ratio(1, 1) - unknown) < 1e-6F);
  const float between = (fertilities.ratio(0, 0) + fertilities.ratio(0, 1)) / 2;
  CHECK(std::abs(fertilities.ratio(0, 0.5F) - between) < 1e-3F * between);
  CHECK(fertilities.ratio(0, 6) < 1e-9F);
  CHECK(fertilities.ratio(0, 100) < 1e-9F);
}

}  // namespace
}  // namespace hopefear::align
