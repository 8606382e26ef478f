// The future of partial derivations of phrase search: the best monotone translations of the
// uncovered spans, from left to right.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/phrase_decoder.hpp"
#include "forest/future.hpp"

namespace hopefear::decode {

class PhraseFuture : public Future {
 public:
  // Owns nothing; `spans` are those of the weights that the sentence was decoded with. `weights`
  // and `log` are for features() only; `log` receives the names of features that templates fire.
  PhraseFuture(const PhraseModel& model, const SpanResult& spans, const Weights* weights = nullptr,
               features::NameLog* log = nullptr)
      : model_(&model), spans_(&spans), memo_(weights), log_(log) {}

  const Vocabulary& vocabulary() const override { return *spans_->options->vocabulary(); }
  double score(std::span<const uint64_t> coverage) const override;
  void options(std::span<const uint64_t> coverage, std::vector<uint32_t>& result) const override;
  void words(std::span<const uint32_t> options, std::vector<int32_t>& result) const override;
  SparseVector features(std::span<const uint32_t> options) override;

 private:
  const PhraseModel* model_;
  const SpanResult* spans_;
  features::Memo memo_;
  features::NameLog* log_;
};

}  // namespace hopefear::decode
