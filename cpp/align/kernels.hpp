// The inner loops of the HMM, O(I^2) per target word, which take nine tenths of its time. Written
// with vectors of eight floats; on x86 the AVX2 version is chosen at run time. Both versions do the
// same operations in the same order (no fused multiply-add), so a model does not depend on the
// machine.
#pragma once

#include <cstddef>

namespace hopefear::align {

// Rows of floats are padded with zeros to a multiple of this.
inline constexpr size_t kLane = 8;
inline size_t padded(size_t n) { return (n + kLane - 1) / kLane * kLane; }

struct Kernels {
  // out[i] = sum over k < n, |i - k| <= window (and a few beyond, where w is zero) of
  // w[i - k] * x[k], for i < padded(n).
  void (*convolve)(const float* w, const float* x, size_t n, size_t window, float* out);
  // count[i - k] += sum over j < rows of x[j * stride + k] * y[j * stride + i], for i, k < n and
  // |i - k| <= window; count is writable from -padded(n) - 8 to padded(n) + 8; values beyond the
  // window are unspecified.
  void (*correlate)(const float* x, const float* y, size_t rows, size_t stride, size_t n,
                    size_t window, float* count);
};

// The fastest kernels of this machine.
const Kernels& kernels();

// The portable kernels, for tests that compare both.
const Kernels& plain_kernels();

}  // namespace hopefear::align
