// The partial derivations of the bins of phrase search as rows of candidates, with the strings they
// are evaluated by.  [liu2014]
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
  std::vector<int64_t> bins = {0};  // rows of the i-th bin asked for are [i] .. [i + 1]
  CollectedRows rows;               // keys know the covered words too
  std::vector<double> scores;       // of the model, with future features if they are in the rows
  std::string text;                 // the strings, one after the other, blanks between words
  std::vector<size_t> text_begin = {0};

  size_t size() const { return scores.size(); }
  std::string_view line(size_t row) const {
    return std::string_view(text).substr(text_begin[row], text_begin[row + 1] - text_begin[row]);
  }
};

// What is added to a partial derivation; null where nothing is.
struct Completion {
  const Future* strings = nullptr;  // potential strings instead of partial ones
  Future* features = nullptr;       // future features too
};

// Of each bin first .. last (numbers of covered words) the best derivation of every node, by score;
// of equal scores the smaller node first. `covered` of the goal is not asked: it is no bin's node.
// O(E) for all bins together, then O(length) for a row.
BinRows collect_bins(const Forest& forest, const Weights& weights, uint32_t first, uint32_t last,
                     const Completion& completion);

}  // namespace hopefear
