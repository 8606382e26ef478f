#include "metrics/reference_set.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/threads.hpp"

namespace hopefear {

void ReferenceSet::add_lengths(std::span<const std::vector<WordId>> references) {
  if (references.empty()) throw std::invalid_argument("a sentence needs a reference");
  for (const std::vector<WordId>& words : references) {
    lengths_.push_back(static_cast<uint32_t>(words.size()));
  }
  begin_.push_back(lengths_.size());
}

void ReferenceSet::count(std::span<const Hypothesis> hypotheses, std::span<const int32_t> sentences,
                         size_t threads, int32_t* rows) const {
  constexpr size_t kChunk = 256;  // enough work to pay for the counter, little enough to share
  parallel_for((hypotheses.size() + kChunk - 1) / kChunk, threads, [&](size_t chunk) {
    const std::unique_ptr<Counter> worker = counter();
    std::vector<WordId> words;
    const size_t end = std::min(hypotheses.size(), (chunk + 1) * kChunk);
    for (size_t i = chunk * kChunk; i < end; ++i) {
      std::span<const WordId> ids = hypotheses[i].words;
      if (hypotheses[i].is_line) {
        words.clear();
        for_each_unit(hypotheses[i].line, unit_,
                      [&](std::string_view word) { words.push_back(find(word)); });
        ids = words;
      }
      worker->count(static_cast<size_t>(sentences[i]), ids, rows + i * columns());
    }
  });
}

}  // namespace hopefear
