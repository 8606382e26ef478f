#include "align/cooccurrence.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/threads.hpp"

namespace hopefear::align {

Cooccurrence find_cooccurrences(const Bitext& bitext, size_t threads) {
  Cooccurrence result;
  const size_t V = bitext.source.size();

  // Where each source word occurs: (sentence pair, position).
  struct Place {
    uint32_t pair, position;
  };
  std::vector<uint64_t> begin(V + 1);
  for (const uint32_t word : bitext.source_words) ++begin[word + 1];
  for (size_t s = 0; s < V; ++s) begin[s + 1] += begin[s];
  std::vector<Place> places(bitext.source_words.size());
  result.cell_begin.assign(bitext.size() + 1, 0);
  {
    std::vector<uint64_t> next(begin.begin(), begin.end() - 1);
    for (size_t k = 0; k < bitext.size(); ++k) {
      const auto sentence = bitext.source_sentence(k);
      for (size_t i = 0; i < sentence.size(); ++i) {
        places[next[sentence[i]]++] = {static_cast<uint32_t>(k), static_cast<uint32_t>(i)};
      }
      result.cell_begin[k + 1] =
          result.cell_begin[k] + sentence.size() * bitext.target_sentence(k).size();
    }
  }
  result.cells.resize(result.cell_begin.back());

  // Chunks of source words; each notes its rows' target words, numbered within the row.
  constexpr size_t kChunks = 64;
  std::vector<std::vector<uint32_t>> chunk_columns(kChunks);
  std::vector<size_t> chunk_word(kChunks + 1, V);  // boundaries, about equal in places
  for (size_t c = 0, s = 0; c < kChunks; ++c) {
    const uint64_t share = places.size() * c / kChunks;
    while (s < V && begin[s] < share) ++s;
    chunk_word[c] = c == 0 ? 0 : s;
  }
  result.rows.assign(V + 1, 0);
  const auto for_cells = [&](size_t s, auto&& f) {
    for (uint64_t p = begin[s]; p < begin[s + 1]; ++p) {
      const auto sentence = bitext.target_sentence(places[p].pair);
      f(sentence, result.cells.data() + result.cell_begin[places[p].pair] +
                      places[p].position * sentence.size());
    }
  };
  parallel_for(kChunks, threads, [&](size_t c) {
    std::vector<uint32_t> seen(bitext.target.size(), UINT32_MAX), rank(bitext.target.size());
    std::vector<uint32_t>& columns = chunk_columns[c];
    for (size_t s = chunk_word[c]; s < chunk_word[c + 1]; ++s) {
      const size_t first = columns.size();
      for_cells(s, [&](std::span<const uint32_t> sentence, uint32_t*) {
        for (const uint32_t t : sentence) {
          if (seen[t] == s) continue;
          seen[t] = static_cast<uint32_t>(s);
          columns.push_back(t);
        }
      });
      std::sort(columns.begin() + static_cast<ptrdiff_t>(first), columns.end());
      for (size_t n = first; n < columns.size(); ++n) {
        rank[columns[n]] = static_cast<uint32_t>(n - first);
      }
      for_cells(s, [&](std::span<const uint32_t> sentence, uint32_t* cell) {
        for (const uint32_t t : sentence) *cell++ = rank[t];
      });
      result.rows[s + 1] = columns.size() - first;
    }
  });

  for (size_t s = 0; s < V; ++s) result.rows[s + 1] += result.rows[s];
  if (result.rows[V] >= UINT32_MAX) {
    throw InputError("more than 4 billion different word pairs; align the text in parts");
  }
  result.columns.reserve(result.rows[V]);
  for (std::vector<uint32_t>& columns : chunk_columns) {
    result.columns.insert(result.columns.end(), columns.begin(), columns.end());
    columns = {};
  }

  // From numbers within the row to numbers of entries.
  parallel_for(kChunks, threads, [&](size_t c) {
    for (size_t s = chunk_word[c]; s < chunk_word[c + 1]; ++s) {
      for_cells(s, [&](std::span<const uint32_t> sentence, uint32_t* cell) {
        for (size_t j = 0; j < sentence.size(); ++j) {
          cell[j] += static_cast<uint32_t>(result.rows[s]);
        }
      });
    }
  });
  return result;
}

}  // namespace hopefear::align
