// The word pairs that occur together: the sparse structure of the lexical tables of both
// directions.
//
// One entry per pair (source word, target word) that shares a sentence pair, row by row of the
// source word, the target words of a row ascending. Both directions share this numbering, with the
// forward table t(target | source) and the reverse table t(source | target) interleaved: a cell of
// the corpus needs one index and one memory access for both.
#pragma once

#include <cstdint>
#include <vector>

#include "align/bitext.hpp"

namespace hopefear::align {

struct Cooccurrence {
  std::vector<uint64_t> rows;        // source vocabulary + 1
  std::vector<uint32_t> columns;     // the target word of each entry
  std::vector<uint64_t> cell_begin;  // sentence pairs + 1
  std::vector<uint32_t> cells;       // entry of (i, j) at cell_begin[k] + i * J + j
};

// O(cells). The 4 bytes per cell (100 MB for the Bible, 2.8 GB for 700 million cells) replace a
// hash look-up per cell and iteration, which takes most of the time in other tools.
Cooccurrence find_cooccurrences(const Bitext& bitext, size_t threads);

}  // namespace hopefear::align
