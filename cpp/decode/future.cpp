#include "decode/future.hpp"

#include <stdexcept>
#include <string>

namespace hopefear::decode {

namespace {

// Calls f(begin, end) for the uncovered spans, from left to right.
template <typename F>
void for_gaps(const SpanTable& table, std::span<const uint64_t> coverage, F&& f) {
  const auto covered = [&](int32_t i) {
    const auto word = static_cast<size_t>(i) / 64;
    return word < coverage.size() && (coverage[word] >> (i % 64) & 1) != 0;
  };
  const int32_t n = table.length();
  for (int32_t begin = 0; begin < n;) {
    if (covered(begin)) {
      ++begin;
      continue;
    }
    int32_t end = begin + 1;
    while (end < n && !covered(end)) ++end;
    if (!table.has(begin, end)) {
      throw std::invalid_argument("no best translation of words " + std::to_string(begin) + " .. " +
                                  std::to_string(end));
    }
    f(begin, end);
    begin = end;
  }
}

}  // namespace

double PhraseFuture::score(std::span<const uint64_t> coverage) const {
  double sum = 0;
  for_gaps(*spans_->table, coverage,
           [&](int32_t begin, int32_t end) { sum += spans_->table->score(begin, end); });
  return sum;
}

void PhraseFuture::options(std::span<const uint64_t> coverage,
                           std::vector<uint32_t>& result) const {
  result.clear();
  for_gaps(*spans_->table, coverage, [&](int32_t begin, int32_t end) {
    spans_->table->for_options(begin, end, [&](uint32_t option) { result.push_back(option); });
  });
}

void PhraseFuture::words(std::span<const uint32_t> options, std::vector<int32_t>& result) const {
  for (const uint32_t option : options) {
    const auto target = spans_->options->target(spans_->options->option(option));
    result.insert(result.end(), target.begin(), target.end());
  }
}

SparseVector PhraseFuture::features(std::span<const uint32_t> options) {
  const OptionTable& table = *spans_->options;
  const std::span<const FeatureId> dense = model_->ids();
  features::ValueSums sums{std::vector<double>(dense.size())};
  std::vector<FeatureId> ids;
  std::vector<float> values;
  for (const uint32_t number : options) {
    for (size_t l = 0; l < model_->lms().size(); ++l) {
      model_->lms()[l].alone(table.lm_phrase(number, l), sums);
    }
    table.add_dense(number, sums);
    bool named = true;
    for (const features::Fired& fired : table.fired(number)) {
      ids.push_back(fired.id);
      values.push_back(fired.value);
      named = named && log_->has(fired.id);
    }
    if (!named) name_fired(*model_, table, number, memo_, *log_);
  }
  for (size_t f = 0; f < dense.size(); ++f) {
    if (sums.values[f] == 0) continue;
    ids.push_back(dense[f]);
    values.push_back(static_cast<float>(sums.values[f]));
  }
  return SparseVector(ids, values);
}

}  // namespace hopefear::decode
