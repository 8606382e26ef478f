// Candidate translations as rows of flat arrays: collecting them from derivations, scoring them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forest/derivation.hpp"

namespace hopefear {

// Feature vectors of derivations one after the other, and a key of each: a hash of its target
// string (of the words, not of their numbers, so vocabularies do not matter) and its features.
struct CollectedRows {
  std::vector<uint64_t> keys;
  std::vector<int64_t> begin = {0};  // rows + 1
  std::vector<FeatureId> ids;
  std::vector<float> values;

  void add(std::string_view text, const SparseVector& features);
};
CollectedRows collect_rows(std::span<const Derivation* const> derivations);
// Appends words to a text, blanks between all of it.
void append_words(std::span<const int32_t> words, const Vocabulary& vocabulary, std::string& text);

// Features of many rows: `columns` dense ones, row by row, and behind them sparse ones in CSR (an
// empty sparse_begin: there are none). Views; the caller keeps the arrays.
struct FeatureRows {
  size_t rows = 0, columns = 0;
  std::span<const float> dense;           // rows x columns
  std::span<const int64_t> sparse_begin;  // rows + 1
  std::span<const int32_t> sparse_columns;
  std::span<const float> sparse_values;

  bool has_sparse() const { return !sparse_begin.empty(); }

  // w.f of a row, in double and always in the same order of summation: equal rows have equal
  // scores wherever they stand, so ties are ties.
  double dot(size_t row, const double* weights) const {
    const float* f = dense.data() + row * columns;
    double sum = 0;
    for (size_t c = 0; c < columns; ++c) sum += weights[c] * f[c];
    if (has_sparse()) {
      const double* w = weights + columns;
      for (int64_t i = sparse_begin[row]; i < sparse_begin[row + 1]; ++i) {
        sum += w[sparse_columns[i]] * sparse_values[i];
      }
    }
    return sum;
  }
};

}  // namespace hopefear
