// What a partial derivation of phrase search leaves open, translated: the best monotone strings of
// the uncovered spans, from left to right, and their features.  [liu2014, eq. 3]
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/sparse_vector.hpp"
#include "decode/phrase_decoder.hpp"

namespace hopefear::decode {

class Future {
 public:
  // Owns neither; the spans are those of the weights that the sentence was decoded with.
  Future(const PhraseModel& model, const SpanResult& spans) : model_(&model), spans_(&spans) {}

  int32_t length() const { return spans_->table->length(); }
  const Vocabulary& vocabulary() const { return *spans_->options->vocabulary(); }

  // The best score of all uncovered spans, of a bit set of covered source words: the future cost
  // that search adds. Throws as `options` does.
  double score(std::span<const uint64_t> coverage) const;
  // Options of the uncovered spans, by number. Throws std::invalid_argument for a span that the
  // table does not have: other limits of search.
  void options(std::span<const uint64_t> coverage, std::vector<uint32_t>& found) const;
  // Appends the words of options.
  void words(std::span<const uint32_t> options, std::vector<int32_t>& found) const;
  // The sum of the features of options, out of context: weights times this are the future costs.
  // Names of what templates fired go to `log`.
  SparseVector features(std::span<const uint32_t> options, features::Memo& memo,
                        features::NameLog& log) const;

 private:
  const PhraseModel* model_;
  const SpanResult* spans_;
};

}  // namespace hopefear::decode
