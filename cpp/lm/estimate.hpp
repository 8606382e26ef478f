// Estimates an n-gram language model from text: interpolated modified Kneser-Ney, with the same
// numbers as lmplz.  [chen1998, kneser1995, heafield2013]
//
//   text -> n-grams of the highest order, sorted      estimate_count
//        -> entries of all orders, discounts          estimate_adjust
//        -> probabilities and back-off weights        estimate_interpolate
//        -> ARPA                                      arpa_writer
//
// Data that does not fit into the given memory is written to scratch files and read back
// sequentially. The output depends neither on the memory nor on the number of threads.
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
// In bytes. Too small to be fast; tests use it to make small texts spill.
inline constexpr size_t kMinEstimateMemory = 64 << 10;

struct EstimateOptions {
  int order;
  // An n-gram of order k is pruned if it occurs prune[k - 1] times or less. Not decreasing; the
  // last value applies to all higher orders; empty: 0.
  std::vector<uint64_t> prune;
  // Discounts for counts 1, 2, 3 or more, for orders whose discounts cannot be estimated from the
  // text; the last value is repeated. Empty: such a text is an error.
  std::vector<double> fallback;
  size_t memory;  // in bytes, for all data that grows with the text
  size_t threads;
  std::string scratch;  // directory; empty: $TMPDIR or /tmp
  bool skip_symbols;  // <s>, </s>, <unk> in the text are treated as white space instead of an error
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

// `progress` is called with the number of tokens read. Throws InputError, FileError, Interrupted.
EstimateReport estimate(std::span<ByteSource* const> texts, ByteSink& arpa,
                        const EstimateOptions& options,
                        const std::function<void(uint64_t)>& progress);

}  // namespace hopefear::lm
