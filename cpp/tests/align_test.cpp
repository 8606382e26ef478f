#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "align/kernels.hpp"
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
      kernels().convolve_max(centre, x.data(), n, window, found.data());
      plain_kernels().convolve_max(centre, x.data(), n, window, plain.data());
      CHECK(same_bits(found, plain));

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

}  // namespace
}  // namespace hopefear::align
