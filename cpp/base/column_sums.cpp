#include "base/column_sums.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace hopefear {

void ColumnSums::add(std::span<const FeatureId> ids, std::span<const double> rows) {
  if (rows.size() != ids.size() * columns_) {
    throw std::invalid_argument("expected a row of values for each id");
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto [place, inserted] = places_.try_emplace(ids[i], ids_.size());
    if (inserted) {
      ids_.push_back(ids[i]);
      sums_.resize(sums_.size() + columns_);
    }
    double* const sum = sums_.data() + place * columns_;
    for (size_t c = 0; c < columns_; ++c) sum[c] += rows[i * columns_ + c];
  }
}

void ColumnSums::sorted(std::vector<FeatureId>& ids, std::vector<double>& rows) const {
  std::vector<size_t> order(ids_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ids_[a] < ids_[b]; });
  ids.clear();
  rows.clear();
  ids.reserve(order.size());
  rows.reserve(order.size() * columns_);
  for (const size_t at : order) {
    ids.push_back(ids_[at]);
    const double* const sum = sums_.data() + at * columns_;
    rows.insert(rows.end(), sum, sum + columns_);
  }
}

}  // namespace hopefear
