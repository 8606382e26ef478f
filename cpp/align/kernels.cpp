#include "align/kernels.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace hopefear::align {
namespace {

#define HOPEFEAR_INLINE inline __attribute__((always_inline))

// Eight floats; the compiler makes two SSE or NEON operations of one where AVX is not there.
typedef float Vector __attribute__((vector_size(32)));

HOPEFEAR_INLINE void load(Vector& to, const float* from) { std::memcpy(&to, from, sizeof to); }
HOPEFEAR_INLINE void store(float* to, const Vector& from) { std::memcpy(to, &from, sizeof from); }

// T vectors of results at a time, and two partial results for each, so that the additions of
// different ones overlap: a single chain would wait for itself four cycles per step.
template <size_t T>
HOPEFEAR_INLINE void convolve_tile(const float* w, const float* x, size_t first, size_t last,
                                   float* out) {
  Vector even[T] = {}, odd[T] = {};
  size_t k = first;
  for (; k + 1 < last; k += 2) {
    for (size_t t = 0; t < T; ++t) {
      Vector a, b;
      load(a, w + kLane * t - k);
      load(b, w + kLane * t - k - 1);
      even[t] += a * x[k];
      odd[t] += b * x[k + 1];
    }
  }
  if (k < last) {
    for (size_t t = 0; t < T; ++t) {
      Vector a;
      load(a, w + kLane * t - k);
      even[t] += a * x[k];
    }
  }
  for (size_t t = 0; t < T; ++t) {
    even[t] += odd[t];
    store(out + kLane * t, even[t]);
  }
}

HOPEFEAR_INLINE void convolve_any(const float* w, const float* x, size_t n, size_t window,
                                  float* out) {
  const size_t vectors = padded(n) / kLane;
  for (size_t v = 0; v < vectors;) {
    const size_t i = v * kLane;
    const auto run = [&](auto tiles) __attribute__((always_inline)) {
      constexpr size_t T = decltype(tiles)::value;
      const size_t first = i > window ? i - window : 0;
      const size_t last = std::min(n, i + T * kLane + window);
      convolve_tile<T>(w + i, x, first, last, out + i);
      v += T;
    };
    if (vectors - v >= 2) {
      run(std::integral_constant<size_t, 2>());
    } else {
      run(std::integral_constant<size_t, 1>());
    }
  }
}

HOPEFEAR_INLINE void correlate_any(const float* x, const float* y, size_t rows, size_t stride,
                                   size_t n, size_t window, float* count) {
  constexpr size_t K = 4;
  for (size_t k = 0; k < n; k += K) {
    const size_t low = k > window ? (k - window) / kLane * kLane : 0;
    const size_t high = std::min(padded(n), k + K + window);
    for (size_t i = low; i < high; i += kLane) {
      Vector sums[K] = {};
      for (size_t j = 0; j < rows; ++j) {
        Vector b;
        load(b, y + j * stride + i);
        const float* a = x + j * stride + k;  // the padding lets k run over n
        for (size_t r = 0; r < K; ++r) sums[r] += b * a[r];
      }
      for (size_t r = 0; r < K; ++r) {
        Vector c;
        float* at = count + i - k - r;
        load(c, at);
        c += sums[r];
        store(at, c);
      }
    }
  }
}

#define HOPEFEAR_KERNELS(suffix, attributes)                                                     \
  attributes void convolve_##suffix(const float* w, const float* x, size_t n, size_t window,     \
                                    float* out) {                                                \
    convolve_any(w, x, n, window, out);                                                          \
  }                                                                                              \
  attributes void correlate_##suffix(const float* x, const float* y, size_t rows, size_t stride, \
                                     size_t n, size_t window, float* count) {                    \
    correlate_any(x, y, rows, stride, n, window, count);                                         \
  }                                                                                              \
  constexpr Kernels kernels_##suffix = {convolve_##suffix, correlate_##suffix};

HOPEFEAR_KERNELS(plain, )
#if defined(__x86_64__)
HOPEFEAR_KERNELS(avx2, __attribute__((target("avx2"))))
#endif

}  // namespace

const Kernels& kernels() {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (has_avx2) return kernels_avx2;
#endif
  return kernels_plain;
}

const Kernels& plain_kernels() { return kernels_plain; }

}  // namespace hopefear::align
