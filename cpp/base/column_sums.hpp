// Sums of sparse rows: for each id that was added, a few columns in double precision.
//
// The sums of an id are those of its rows in the order in which they were added, so the result does
// not depend on the history of the table.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/probing_table.hpp"
#include "base/sparse_vector.hpp"

namespace hopefear {

class ColumnSums {
 public:
  explicit ColumnSums(size_t columns) : columns_(columns) {}

  size_t columns() const { return columns_; }
  size_t size() const { return ids_.size(); }
  // Adds a row of columns() values for each id.
  void add(std::span<const FeatureId> ids, std::span<const double> rows);
  // The ids, ascending, and their rows, one after the other.
  void sorted(std::vector<FeatureId>& ids, std::vector<double>& rows) const;

 private:
  size_t columns_;
  ProbingMap<uint64_t, AsItIs, 6> places_;  // id -> its number
  std::vector<FeatureId> ids_;
  std::vector<double> sums_;
};

}  // namespace hopefear
