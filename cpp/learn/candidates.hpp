// Candidate translations as rows of flat arrays, collected from derivations and scored.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forest/derivation.hpp"

namespace hopefear {

// Concatenated feature vectors of derivations, and a key for each: a hash of its features and its
// target string (of the words, not of their numbers, so keys do not depend on the vocabulary).
struct CollectedRows {
  std::vector<uint64_t> keys;
  std::vector<int64_t> begin = {0};  // rows + 1
  std::vector<FeatureId> ids;
  std::vector<float> values;

  void add(std::string_view text, const SparseVector& features);
};
CollectedRows collect_rows(std::span<const Derivation* const> derivations);
// Appends words to a text, separated by blanks.
void append_words(std::span<const int32_t> words, const Vocabulary& vocabulary, std::string& text);

// Features of rows: `columns` dense ones, row by row, followed by sparse ones in CSR form (none if
// sparse_begin is empty). Views of the caller's arrays.
struct FeatureRows {
  size_t rows = 0, columns = 0;
  std::span<const float> dense;           // rows x columns
  std::span<const int64_t> sparse_begin;  // rows + 1
  std::span<const int32_t> sparse_columns;
  std::span<const float> sparse_values;

  bool has_sparse() const { return !sparse_begin.empty(); }

  // w.f of a row, in double and in a fixed order of summation, so that equal rows have equal
  // scores.
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
