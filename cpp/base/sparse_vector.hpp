// Feature vectors: sorted 64-bit feature ids and float values. Sums are taken in double.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.hpp"

namespace hopefear {

using FeatureId = uint64_t;  // never 0, which marks an empty slot in tables

inline FeatureId feature_id(std::string_view name) {
  const uint64_t hash = hash64(name);
  return hash == 0 ? 1 : hash;
}

class SparseVector {
 public:
  SparseVector() = default;
  // Any order; equal ids are summed. O(n log n).
  SparseVector(std::span<const FeatureId> ids, std::span<const float> values);

  size_t size() const { return ids_.size(); }
  std::span<const FeatureId> ids() const { return ids_; }
  std::span<const float> values() const { return values_; }
  float get(FeatureId id) const;  // 0 if absent; O(log n)

  double dot(const SparseVector& other) const;  // O(n + m)
  // *this + factor * other; entries that cancel to exactly 0 are dropped.
  SparseVector plus(const SparseVector& other, double factor = 1) const;
  void scale(double factor);
  double norm1() const;
  double norm2() const;
  double max_norm() const;
  bool operator==(const SparseVector&) const = default;

 private:
  std::vector<FeatureId> ids_;
  std::vector<float> values_;
};

// sum_i factor_i v_i, added in this order; O(n log k) for n entries of k vectors.
SparseVector weighted_sum(std::span<const SparseVector* const> vectors,
                          std::span<const double> factors);

}  // namespace hopefear
