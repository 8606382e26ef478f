// Estimates an n-gram language model from text: interpolated modified Kneser-Ney with the numbers
// of lmplz.  [chen1998, kneser1995, heafield2013]
//
//   text -> n-grams of the highest order, sorted      estimate_count
//        -> entries of all orders, discounts          estimate_adjust
//        -> probabilities and back-off weights        estimate_interpolate
//        -> ARPA                                      arpa_writer
//
// What does not fit the given memory goes to scratch files and comes back in sequence. The output
// depends neither on the memory nor on the number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/io.hpp"

namespace hopefear::lm {

inline constexpr int kMaxEstimateOrder = 6;
// Bytes. Far too few to be fast; the tests use it to make small texts spill.
inline constexpr size_t kMinEstimateMemory = 64 << 10;

struct EstimateOptions {
  int order;
  // An n-gram of order k goes if it occurs prune[k - 1] times or less. Not decreasing; the last one
  // holds for the higher orders; empty: 0.
  std::vector<uint64_t> prune;
  // Discounts for counts 1, 2, 3 or more, for orders where the text gives none; the last one is
  // repeated. Empty: such a text is an error.
  std::vector<double> fallback;
  size_t memory;  // bytes for all that grows with the text
  size_t threads;
  std::string scratch;  // directory; empty: $TMPDIR or /tmp
  bool skip_symbols;    // <s>, </s>, <unk> in the text are white space, not an error
};

struct EstimatedOrder {
  uint64_t distinct;  // n-grams before pruning
  uint64_t written;
  std::array<double, 3> discounts;
  bool fell_back;
};

struct EstimateReport {
  uint64_t sentences = 0, tokens = 0, types = 0;  // types: without <unk>, <s>, </s>
  uint64_t spilled_bytes = 0;
  std::vector<EstimatedOrder> orders;
};

// `progress` is told the tokens read so far. Throws InputError, FileError, Interrupted.
EstimateReport estimate(std::span<ByteSource* const> texts, ByteSink& arpa,
                        const EstimateOptions& options,
                        const std::function<void(uint64_t)>& progress);

}  // namespace hopefear::lm
