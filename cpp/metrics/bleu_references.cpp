#include "metrics/bleu_references.hpp"

#include <algorithm>
#include <stdexcept>

namespace hopefear {
namespace {

constexpr unsigned kMaxOrder = 16;

class BleuCounter : public Counter {
 public:
  explicit BleuCounter(const BleuReferences& references) : references_(references) {}
  void count(size_t sentence, std::span<const WordId> words, int32_t* row) override {
    references_.count(sentence, words, scratch_, row);
  }

 private:
  const BleuReferences& references_;
  NgramTable::Scratch scratch_;
};

}  // namespace

BleuReferences::BleuReferences(unsigned order, TextUnit unit, LengthChoice choice, bool clip)
    : ReferenceSet(unit), order_(order), choice_(choice), clip_(clip) {
  if (order < 1 || order > kMaxOrder) throw std::invalid_argument("order must be from 1 to 16");
}

void BleuReferences::add_sentence(std::span<const std::vector<WordId>> references) {
  add_lengths(references);
  tables_.emplace_back(references, order_);
}

std::unique_ptr<Counter> BleuReferences::counter() const {
  return std::make_unique<BleuCounter>(*this);
}

int32_t BleuReferences::reference_length(size_t sentence, size_t length) const {
  const std::span<const uint32_t> all = lengths(sentence);
  if (choice_ == LengthChoice::average) return mean_length(all);
  if (choice_ == LengthChoice::shortest) {
    return static_cast<int32_t>(*std::min_element(all.begin(), all.end()));
  }
  const auto distance = [&](uint32_t other) {
    return other > length ? other - length : length - other;
  };
  uint32_t best = all.front();
  for (const uint32_t other : all) {
    const size_t a = distance(other), b = distance(best);
    if (a < b || (a == b && other < best)) best = other;
  }
  return static_cast<int32_t>(best);
}

void BleuReferences::count(size_t sentence, std::span<const WordId> words,
                           NgramTable::Scratch& scratch, int32_t* row) const {
  int32_t matches[kMaxOrder] = {};
  tables_[sentence].match(words, clip_, scratch, matches);
  for (unsigned k = 0; k < order_; ++k) {
    row[2 * k] = matches[k];
    row[2 * k + 1] = words.size() > k ? static_cast<int32_t>(words.size() - k) : 0;
  }
  row[2 * order_] = reference_length(sentence, words.size());
}

}  // namespace hopefear
