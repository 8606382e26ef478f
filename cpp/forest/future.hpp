// The future of a partial derivation of phrase search: the best options for its uncovered spans,
// with their score, words and features. An interface for learning, implemented by the decoder
// (decode/future.hpp).  [liu2014, eq. 3]
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/sparse_vector.hpp"
#include "base/vocabulary.hpp"

namespace hopefear {

class Future {
 public:
  virtual ~Future() = default;
  virtual const Vocabulary& vocabulary() const = 0;
  // The future cost that search adds: the best scores of the uncovered spans, summed. `coverage` is
  // a bit set of covered source words. Throws as options() does.
  virtual double score(std::span<const uint64_t> coverage) const = 0;
  // The numbers of the options of the uncovered spans. std::invalid_argument for a span that the
  // decoder did not consider, because it ran with other limits.
  virtual void options(std::span<const uint64_t> coverage, std::vector<uint32_t>& result) const = 0;
  // Appends the words of the options to `result`.
  virtual void words(std::span<const uint32_t> options, std::vector<int32_t>& result) const = 0;
  // The summed features of the options, out of context; their product with the weights is the
  // future cost.
  virtual SparseVector features(std::span<const uint32_t> options) = 0;
};

}  // namespace hopefear
