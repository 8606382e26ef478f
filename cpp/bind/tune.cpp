// What batch tuners compute on candidates. hopefear.tune checks shapes and values once and hands
// over contiguous arrays; here only what would read out of bounds is checked again.
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include "base/threads.hpp"
#include "base/weights.hpp"
#include "bind/forest_arrays.hpp"
#include "tune/candidates.hpp"

namespace hopefear::bind {
namespace {

using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The arrays of a FeatureTable as Python hands them over; empty `begin`: no sparse part.
FeatureRows feature_rows(const Matrix& dense, const InArray<int64_t>& begin,
                         const InArray<int32_t>& columns, const InArray<float>& values,
                         size_t sparse_features) {
  FeatureRows rows;
  rows.rows = dense.shape(0);
  rows.columns = dense.shape(1);
  rows.dense = {dense.data(), dense.size()};
  rows.sparse_begin = span_of(begin);
  rows.sparse_columns = span_of(columns);
  rows.sparse_values = span_of(values);
  if (!rows.has_sparse()) return rows;
  bool good = begin.size() == rows.rows + 1 && columns.size() == values.size() &&
              rows.sparse_begin.front() == 0 &&
              static_cast<size_t>(rows.sparse_begin.back()) == columns.size();
  for (size_t r = 0; good && r < rows.rows; ++r) {
    good = rows.sparse_begin[r] <= rows.sparse_begin[r + 1];
  }
  for (size_t i = 0; good && i < columns.size(); ++i) {
    const int32_t c = rows.sparse_columns[i];
    good = c >= 0 && static_cast<size_t>(c) < sparse_features;
  }
  if (!good) throw nb::value_error("the sparse features are no CSR matrix of these rows");
  return rows;
}

}  // namespace

void bind_tune(nb::module_& m) {
  m.def(
      "collect_rows",
      [](const std::vector<const Derivation*>& derivations) {
        CollectedRows rows;
        {
          const nb::gil_scoped_release release;
          rows = collect_rows(derivations);
        }
        return nb::make_tuple(own_array(std::move(rows.keys)), own_array(std::move(rows.begin)),
                              own_array(std::move(rows.ids)), own_array(std::move(rows.values)));
      },
      "derivations"_a,
      nb::sig("def collect_rows(derivations: collections.abc.Sequence[Derivation]) -> "
              "tuple[numpy.typing.NDArray[numpy.uint64], numpy.typing.NDArray[numpy.int64], "
              "numpy.typing.NDArray[numpy.uint64], numpy.typing.NDArray[numpy.float32]]"),
      "Keys (hashes of string and features), begin, feature ids and values of derivations.");
  m.def(
      "row_scores",
      [](Matrix dense, InArray<int64_t> begin, InArray<int32_t> columns, InArray<float> values,
         InArray<double> weights, size_t threads) {
        if (weights.size() < dense.shape(1)) throw nb::value_error("one weight per feature");
        std::vector<double> scores(dense.shape(0));
        {
          const nb::gil_scoped_release release;
          const FeatureRows rows =
              feature_rows(dense, begin, columns, values, weights.size() - dense.shape(1));
          constexpr size_t kBlock = 16384;
          parallel_for((scores.size() + kBlock - 1) / kBlock, threads, [&](size_t block) {
            const size_t end = std::min(scores.size(), (block + 1) * kBlock);
            for (size_t r = block * kBlock; r < end; ++r) scores[r] = rows.dot(r, weights.data());
          });
        }
        return own_array(std::move(scores));
      },
      "dense"_a.noconvert(), "begin"_a.noconvert(), "columns"_a.noconvert(), "values"_a.noconvert(),
      "weights"_a.noconvert(), "threads"_a,
      nb::sig("def row_scores(dense: numpy.typing.NDArray[numpy.float32], "
              "begin: numpy.typing.NDArray[numpy.int64], "
              "columns: numpy.typing.NDArray[numpy.int32], "
              "values: numpy.typing.NDArray[numpy.float32], "
              "weights: numpy.typing.NDArray[numpy.float64], threads: int) -> "
              "numpy.typing.NDArray[numpy.float64]"),
      "w.f of every row; equal rows have equal scores.");
  m.def(
      "gather_weights",
      [](const Weights& weights, InArray<uint64_t> ids) {
        std::vector<double> values;
        values.reserve(ids.size());
        for (const FeatureId id : span_of(ids)) values.push_back(weights.get(id));
        return own_array(std::move(values));
      },
      "weights"_a, "ids"_a.noconvert(),
      nb::sig("def gather_weights(weights: WeightTable, ids: numpy.typing.NDArray[numpy.uint64]) "
              "-> numpy.typing.NDArray[numpy.float64]"),
      "The weights of these features.");
  m.def(
      "assign_weights",
      [](Weights& weights, InArray<uint64_t> ids, InArray<double> values) {
        if (ids.size() != values.size()) throw nb::value_error("as many values as ids");
        for (size_t i = 0; i < ids.size(); ++i) {
          if (ids.data()[i] == 0) throw nb::value_error("0 is no feature id");
          weights.set(ids.data()[i], static_cast<float>(values.data()[i]));
        }
      },
      "weights"_a, "ids"_a.noconvert(), "values"_a.noconvert(),
      "Set the weights of these features.");
}

}  // namespace hopefear::bind
