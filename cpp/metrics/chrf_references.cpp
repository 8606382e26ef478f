#include "metrics/chrf_references.hpp"

#include <algorithm>
#include <stdexcept>

namespace hopefear {
namespace {

constexpr unsigned kMaxOrder = 16;

class ChrfCounter : public Counter {
 public:
  explicit ChrfCounter(const ChrfReferences& references) : references_(references) {}
  void count(size_t sentence, std::span<const WordId> words, int32_t* row) override {
    references_.count(sentence, words, scratch_, row);
  }

 private:
  const ChrfReferences& references_;
  NgramTable::Scratch scratch_;
};

}  // namespace

ChrfReferences::ChrfReferences(unsigned order, double beta)
    : ReferenceSet(TextUnit::character), order_(order), beta_(beta) {
  if (order < 1 || order > kMaxOrder) throw std::invalid_argument("order must be from 1 to 16");
}

WordId ChrfReferences::find(std::string_view character) const {
  uint32_t point = static_cast<unsigned char>(character[0]);
  if (character.size() > 1) point &= 0x7fu >> character.size();
  for (size_t i = 1; i < character.size(); ++i) {
    point = point << 6 | (static_cast<unsigned char>(character[i]) & 0x3f);
  }
  return point + 1;
}

void ChrfReferences::add_sentence(std::span<const std::vector<WordId>> references) {
  add_lengths(references);
  first_.push_back(tables_.size());
  for (size_t r = 0; r < references.size(); ++r) {
    tables_.emplace_back(references.subspan(r, 1), order_);
  }
}

std::unique_ptr<Counter> ChrfReferences::counter() const {
  return std::make_unique<ChrfCounter>(*this);
}

double ChrfReferences::f_score(const int32_t* row) const {
  double precision = 0, recall = 0;
  int orders = 0;
  for (unsigned k = 0; k < order_; ++k, row += 3) {
    if (row[0] == 0 || row[1] == 0) continue;
    precision += static_cast<double>(row[2]) / row[0];
    recall += static_cast<double>(row[2]) / row[1];
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  const double factor = beta_ * beta_;
  return (1 + factor) * precision * recall / (factor * precision + recall);
}

void ChrfReferences::count(size_t sentence, std::span<const WordId> words,
                           NgramTable::Scratch& scratch, int32_t* row) const {
  const auto ngrams = [](size_t length, unsigned k) {
    return length > k ? static_cast<int32_t>(length - k) : 0;
  };
  const std::span<const uint32_t> reference_lengths = lengths(sentence);
  double best = -1;
  for (size_t r = 0; r < reference_lengths.size(); ++r) {
    int32_t matches[kMaxOrder] = {};
    int32_t counts[3 * kMaxOrder];
    tables_[first_[sentence] + r].match(words, true, scratch, matches);
    for (unsigned k = 0; k < order_; ++k) {
      counts[3 * k + 1] = ngrams(reference_lengths[r], k);
      // Orders without n-grams in the reference are left out.
      counts[3 * k] = counts[3 * k + 1] == 0 ? 0 : ngrams(words.size(), k);
      counts[3 * k + 2] = matches[k];
    }
    const double score = f_score(counts);
    if (score > best) {
      best = score;
      std::copy_n(counts, columns(), row);
    }
  }
}

}  // namespace hopefear
