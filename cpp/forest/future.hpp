// What a partial derivation of phrase search leaves open, translated: options for the uncovered
// spans, and their scores, words and features. Learning asks for it; the decoder that searched has
// it (decode/future.hpp).  [liu2014, eq. 3]
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
  // The best score of all uncovered spans, of a bit set of covered source words: the future cost
  // that search adds. Throws as `options` does.
  virtual double score(std::span<const uint64_t> coverage) const = 0;
  // Options of the uncovered spans, by number. Throws std::invalid_argument for a span that the
  // decoder did not consider: other limits of search.
  virtual void options(std::span<const uint64_t> coverage, std::vector<uint32_t>& found) const = 0;
  // Appends the words of options.
  virtual void words(std::span<const uint32_t> options, std::vector<int32_t>& found) const = 0;
  // The sum of the features of options, out of context: weights times this are the future costs.
  virtual SparseVector features(std::span<const uint32_t> options) = 0;
};

}  // namespace hopefear
