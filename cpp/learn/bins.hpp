// The partial derivations in the bins of phrase search as rows of candidates, with the strings to
// evaluate.  [liu2014]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "forest/forest.hpp"
#include "forest/future.hpp"
#include "learn/candidates.hpp"

namespace hopefear {

struct BinRows {
  std::vector<int64_t> bins = {0};  // the i-th requested bin has the rows [i] .. [i + 1]
  CollectedRows rows;               // keys include the covered words
  std::vector<double> scores;       // of the model; with future features if the rows have them
  std::string text;                 // the strings, concatenated; blanks between words
  std::vector<size_t> text_begin = {0};

  size_t size() const { return scores.size(); }
  std::string_view line(size_t row) const {
    return std::string_view(text).substr(text_begin[row], text_begin[row + 1] - text_begin[row]);
  }
};

// How partial derivations are completed; null: not at all.
struct Completion {
  const Future* strings = nullptr;  // use potential strings instead of partial ones
  Future* features = nullptr;       // add the features of the future
};

// For each bin first .. last (numbers of covered words) the best derivation of every node, by
// descending score, ties by node. The goal belongs to no bin, whatever its `covered`. O(E) for all
// bins together, then O(length) per row.
BinRows collect_bins(const Forest& forest, const Weights& weights, uint32_t first, uint32_t last,
                     const Completion& completion);

}  // namespace hopefear
