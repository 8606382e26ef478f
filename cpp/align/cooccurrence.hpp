// Which words occur together: the sparse shape of the lexical tables of both directions.
//
// One entry per pair (source word, target word) that shares a sentence pair, row by row of the
// source word, the target words of a row ascending. Both directions use this one numbering, the
// forward table t(target | source) and the reverse table t(source | target) side by side: a cell of
// the corpus then needs one index and one memory access for both.
#pragma once

#include <cstdint>
#include <vector>

#include "align/bitext.hpp"

namespace hopefear::align {

struct Cooccurrence {
  std::vector<uint64_t> rows;          // source vocabulary + 1
  std::vector<uint32_t> columns;       // the target word of each entry
  std::vector<uint64_t> cell_begin;    // sentence pairs + 1
  std::vector<uint32_t> cells;         // entry of (i, j) at cell_begin[k] + i * J + j
  std::vector<uint32_t> column_sizes;  // entries of each target word
};

// O(cells). A hash look-up per cell and iteration took most of the time of the tools we measured;
// 4 bytes per cell (100 MB for the Bible, 700 million cells per 2.8 GB) buy it off.
Cooccurrence find_cooccurrences(const Bitext& bitext, size_t threads);

}  // namespace hopefear::align
