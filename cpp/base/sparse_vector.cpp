#include "base/sparse_vector.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace hopefear {

SparseVector::SparseVector(std::span<const FeatureId> ids, std::span<const float> values) {
  if (ids.size() != values.size()) throw std::invalid_argument("expected as many values as ids");
  if (std::is_sorted(ids.begin(), ids.end(), std::less_equal<>())) {  // strictly ascending
    ids_.assign(ids.begin(), ids.end());
    values_.assign(values.begin(), values.end());
    return;
  }
  std::vector<size_t> order(ids.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ids[a] < ids[b]; });
  for (size_t i = 0; i < order.size();) {
    const FeatureId id = ids[order[i]];
    double sum = 0;
    for (; i < order.size() && ids[order[i]] == id; ++i) sum += values[order[i]];
    ids_.push_back(id);
    values_.push_back(static_cast<float>(sum));
  }
}

float SparseVector::get(FeatureId id) const {
  const auto at = std::lower_bound(ids_.begin(), ids_.end(), id);
  if (at == ids_.end() || *at != id) return 0;
  return values_[static_cast<size_t>(at - ids_.begin())];
}

double SparseVector::dot(const SparseVector& other) const {
  double sum = 0;
  size_t i = 0, j = 0;
  while (i < ids_.size() && j < other.ids_.size()) {
    if (ids_[i] < other.ids_[j]) {
      ++i;
    } else if (other.ids_[j] < ids_[i]) {
      ++j;
    } else {
      sum += static_cast<double>(values_[i++]) * other.values_[j++];
    }
  }
  return sum;
}

SparseVector SparseVector::plus(const SparseVector& other, double factor) const {
  SparseVector result;
  result.ids_.reserve(size() + other.size());
  result.values_.reserve(size() + other.size());
  size_t i = 0, j = 0;
  const auto put = [&](FeatureId id, double value) {
    if (value == 0) return;
    result.ids_.push_back(id);
    result.values_.push_back(static_cast<float>(value));
  };
  while (i < size() || j < other.size()) {
    if (j == other.size() || (i < size() && ids_[i] < other.ids_[j])) {
      put(ids_[i], values_[i]);
      ++i;
    } else if (i == size() || other.ids_[j] < ids_[i]) {
      put(other.ids_[j], factor * other.values_[j]);
      ++j;
    } else {
      put(ids_[i], values_[i] + factor * other.values_[j]);
      ++i;
      ++j;
    }
  }
  return result;
}

void SparseVector::scale(double factor) {
  for (float& value : values_) value = static_cast<float>(value * factor);
}

double SparseVector::norm1() const {
  double sum = 0;
  for (const float value : values_) sum += std::abs(value);
  return sum;
}

double SparseVector::norm2() const {
  double sum = 0;
  for (const float value : values_) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

double SparseVector::max_norm() const {
  double largest = 0;
  for (const float value : values_) largest = std::max<double>(largest, std::abs(value));
  return largest;
}

SparseVector weighted_sum(std::span<const SparseVector* const> vectors,
                          std::span<const double> factors) {
  if (vectors.size() != factors.size())
    throw std::invalid_argument("expected as many factors as vectors");
  // A heap of the vectors by their next ids; of equal ids the first vector comes first, so that the
  // sum does not depend on anything but the arguments. Takes no memory but the result's: vectors of
  // all weights have millions of entries.
  struct Next {
    FeatureId id;
    size_t vector, place;
  };
  const auto later = [](const Next& a, const Next& b) {
    return a.id != b.id ? a.id > b.id : a.vector > b.vector;
  };
  std::vector<Next> heap;
  size_t largest = 0;
  for (size_t v = 0; v < vectors.size(); ++v) {
    if (vectors[v]->size() > 0) heap.push_back({vectors[v]->ids().front(), v, 0});
    largest = std::max(largest, vectors[v]->size());
  }
  std::make_heap(heap.begin(), heap.end(), later);
  std::vector<FeatureId> ids;
  std::vector<float> values;
  ids.reserve(largest);
  values.reserve(largest);
  while (!heap.empty()) {
    const FeatureId id = heap.front().id;
    double sum = 0;
    while (!heap.empty() && heap.front().id == id) {
      std::pop_heap(heap.begin(), heap.end(), later);
      Next& next = heap.back();
      const SparseVector& vector = *vectors[next.vector];
      sum += factors[next.vector] * vector.values()[next.place];
      if (++next.place == vector.size()) {
        heap.pop_back();
      } else {
        next.id = vector.ids()[next.place];
        std::push_heap(heap.begin(), heap.end(), later);
      }
    }
    ids.push_back(id);
    values.push_back(static_cast<float>(sum));
  }
  return SparseVector(ids, values);
}

}  // namespace hopefear
