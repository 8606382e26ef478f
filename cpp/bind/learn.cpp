// Computations of batch tuners on candidates. hopefear.learn checks shapes and values and passes
// contiguous arrays; only the conditions for memory safety are checked again here.
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>

#include "base/threads.hpp"
#include "base/weights.hpp"
#include "bind/forest_arrays.hpp"
#include "learn/batch_mira.hpp"
#include "learn/candidates.hpp"
#include "learn/forest_gain.hpp"
#include "learn/line_search.hpp"

namespace hopefear::bind {
namespace {

using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Views of the arrays of a Python FeatureTable; empty `begin`: no sparse part.
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
  if (!good) throw nb::value_error("the sparse features are not a CSR matrix of these rows");
  return rows;
}

using ChangedArray = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename Number>
using NumberMatrix = nb::ndarray<const Number, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IntMatrix = NumberMatrix<int32_t>;

template <typename Number>
LineSearch make_search(const InArray<int64_t>& begin, const Matrix& dense,
                       const InArray<int64_t>& moving, const NumberMatrix<Number>& statistics) {
  const auto b = span_of(begin);
  const size_t rows = dense.shape(0);
  if (b.empty() || b.front() != 0 || static_cast<size_t>(b.back()) != rows ||
      !std::is_sorted(b.begin(), b.end()) || statistics.shape(0) != rows ||
      rows >= std::numeric_limits<uint32_t>::max()) {
    throw nb::value_error("begin, features and statistics must have the same rows");
  }
  for (const int64_t column : span_of(moving)) {
    if (column < 0 || static_cast<size_t>(column) >= dense.shape(1)) {
      throw nb::index_error("column index out of range");
    }
  }
  return LineSearch(b, {dense.data(), dense.size()}, dense.shape(1), span_of(moving),
                    std::vector<Number>(statistics.data(), statistics.data() + statistics.size()),
                    statistics.shape(1));
}

template <typename Number>
void construct_search(LineSearch* self, InArray<int64_t> begin, Matrix dense,
                      InArray<int64_t> moving, NumberMatrix<Number> statistics) {
  const nb::gil_scoped_release release;
  new (self) LineSearch(make_search<Number>(begin, dense, moving, statistics));
}

void check_size(const InArray<double>& array, size_t size) {
  if (array.size() != size) throw nb::value_error("the size of an array does not match the search");
}

// The envelopes along a column, or along slopes if column < 0.
LineSearch::Envelopes envelopes(const LineSearch& search, const InArray<double>& scores,
                                int64_t column, const InArray<double>& slopes) {
  check_size(scores, search.rows());
  if (column >= 0) {
    if (static_cast<size_t>(column) >= search.columns())
      throw nb::index_error("column index out of range");
    return search.along_column(span_of(scores), static_cast<size_t>(column));
  }
  check_size(slopes, search.rows());
  return search.along(span_of(scores), span_of(slopes));
}

void bind_line_search(nb::module_& m) {
  nb::class_<LineSearch>(m, "LineSearch", "Exact line search over candidates, for MERT.")
      .def("__init__", &construct_search<int16_t>, "begin"_a.noconvert(), "dense"_a.noconvert(),
           "moving"_a.noconvert(), "statistics"_a.noconvert())
      .def("__init__", &construct_search<int32_t>, "begin"_a.noconvert(), "dense"_a.noconvert(),
           "moving"_a.noconvert(), "statistics"_a.noconvert())
      .def_prop_ro("rows", &LineSearch::rows)
      .def_prop_ro("columns", &LineSearch::columns)
      .def(
          "scores",
          [](const LineSearch& search, InArray<double> base, InArray<double> weights) {
            check_size(base, search.rows());
            check_size(weights, search.columns());
            std::vector<double> out(search.rows());
            {
              const nb::gil_scoped_release release;
              search.scores(span_of(base), span_of(weights), out);
            }
            return own_array(std::move(out));
          },
          "base"_a.noconvert(), "weights"_a.noconvert(), nb::rv_policy::automatic,
          "Return base + w.f of every row.")
      .def(
          "step",
          [](const LineSearch& search, ChangedArray scores, size_t column, double x,
             double factor) {
            if (scores.size() != search.rows()) {
              throw nb::value_error("the size of an array does not match the search");
            }
            if (column >= search.columns()) throw nb::index_error("column index out of range");
            const nb::gil_scoped_release release;
            search.step({scores.data(), scores.size()}, column, x, factor);
          },
          "scores"_a.noconvert(), "column"_a, "x"_a, "factor"_a,
          "Update scores in place: those after a step x along a column, multiplied by a factor.")
      .def(
          "slopes",
          [](const LineSearch& search, InArray<double> direction) {
            check_size(direction, search.columns());
            std::vector<double> out(search.rows());
            {
              const nb::gil_scoped_release release;
              search.slopes(span_of(direction), out);
            }
            return own_array(std::move(out));
          },
          "direction"_a.noconvert(), nb::rv_policy::automatic, "Return direction.f of every row.")
      .def(
          "best_bleu",
          [](const LineSearch& search, InArray<double> scores, int64_t column,
             InArray<double> slopes, size_t order, double length_unit, double narrow,
             double margin) {
            if (search.width() != 2 * order + 1)
              throw nb::value_error("expected 2 * order + 1 BLEU statistics per row");
            LineOptimum best;
            {
              const nb::gil_scoped_release release;
              best = best_interval(search, envelopes(search, scores, column, slopes),
                                   {order, length_unit}, narrow, margin);
            }
            return nb::make_tuple(best.x, best.score, best.score_at_zero);
          },
          "scores"_a.noconvert(), "column"_a, "slopes"_a.noconvert(), "order"_a, "length_unit"_a,
          "narrow"_a, "margin"_a,
          nb::sig("def best_bleu(self, scores: numpy.typing.NDArray[numpy.float64], column: int, "
                  "slopes: numpy.typing.NDArray[numpy.float64], order: int, length_unit: float, "
                  "narrow: float, margin: float) -> tuple[float, float, float]"),
          "Return the best x on the line, BLEU there, and BLEU at 0 (-inf if there is a corner at "
          "0). column -1: along slopes.")
      .def(
          "intervals",
          [](const LineSearch& search, InArray<double> scores, int64_t column,
             InArray<double> slopes) {
            std::vector<double> corners;
            std::vector<int64_t> sums;
            {
              const nb::gil_scoped_release release;
              const LineSearch::Envelopes envelope = envelopes(search, scores, column, slopes);
              sums = interval_statistics(search, envelope);
              for (const LineSearch::Corner& c : envelope.corners) corners.push_back(c.x);
            }
            return nb::make_tuple(own_array(std::move(corners)), own_array(std::move(sums)));
          },
          "scores"_a.noconvert(), "column"_a, "slopes"_a.noconvert(),
          nb::sig("def intervals(self, scores: numpy.typing.NDArray[numpy.float64], column: int, "
                  "slopes: numpy.typing.NDArray[numpy.float64]) -> "
                  "tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.int64]]"),
          "Return the corners, ascending, and the summed statistics of the intervals between them "
          "(flattened).");
}

// Owns the tuner and references to the arrays that its passes read.
struct MiraHandle {
  Matrix dense;
  InArray<int64_t> sparse_begin, begin;
  InArray<int32_t> sparse_columns;
  InArray<float> sparse_values;
  IntMatrix statistics;
  InArray<double> gains;
  InArray<uint8_t> moves, complete;
  BatchMira mira;
};

BatchMira make_mira(const MiraHandle& h, const InArray<double>& weights,
                    const MiraOptions& options) {
  const auto b = span_of(h.begin);
  const size_t rows = h.dense.shape(0), width = 2 * options.order + 1;
  if (weights.size() < h.dense.shape(1) || h.moves.size() != weights.size()) {
    throw nb::value_error("expected one weight per feature");
  }
  if (b.empty() || b.front() != 0 || static_cast<size_t>(b.back()) != rows ||
      !std::is_sorted(b.begin(), b.end()) || h.complete.size() + 1 != b.size()) {
    throw nb::value_error("begin and complete do not match the groups of the rows");
  }
  if (options.order > 0 ? h.statistics.shape(0) != rows || h.statistics.shape(1) != width
                        : h.gains.size() != rows) {
    throw nb::value_error("statistics or gains do not match the rows");
  }
  const FeatureRows features = feature_rows(h.dense, h.sparse_begin, h.sparse_columns,
                                            h.sparse_values, weights.size() - h.dense.shape(1));
  const auto w = span_of(weights);
  return BatchMira(features, b, {h.statistics.data(), h.statistics.size()}, span_of(h.gains),
                   {w.begin(), w.end()}, span_of(h.moves), span_of(h.complete), options);
}

void bind_batch_mira(nb::module_& m) {
  nb::class_<MiraHandle>(m, "BatchMira", "Batch MIRA over candidates.")
      .def(
          "__init__",
          [](MiraHandle* self, Matrix dense, InArray<int64_t> sparse_begin,
             InArray<int32_t> sparse_columns, InArray<float> sparse_values, InArray<int64_t> begin,
             IntMatrix statistics, InArray<double> gains, InArray<double> weights,
             InArray<uint8_t> moves, InArray<uint8_t> complete, double C, double decay,
             bool safe_hope, bool model_background, size_t order, double length_unit) {
            const MiraOptions options{C, decay, safe_hope, model_background, order, length_unit};
            MiraHandle handle{dense,         sparse_begin,
                              begin,         sparse_columns,
                              sparse_values, statistics,
                              gains,         moves,
                              complete,      BatchMira({}, {}, {}, {}, {}, {}, {}, options)};
            handle.mira = make_mira(handle, weights, options);
            new (self) MiraHandle(std::move(handle));
          },
          "dense"_a.noconvert(), "sparse_begin"_a.noconvert(), "sparse_columns"_a.noconvert(),
          "sparse_values"_a.noconvert(), "begin"_a.noconvert(), "statistics"_a.noconvert(),
          "gains"_a.noconvert(), "weights"_a.noconvert(), "moves"_a.noconvert(),
          "complete"_a.noconvert(), "C"_a, "decay"_a, "safe_hope"_a, "model_background"_a,
          "order"_a, "length_unit"_a)
      .def(
          "run",
          [](MiraHandle& h, InArray<int32_t> order) {
            const auto groups = static_cast<int64_t>(h.begin.size()) - 1;
            for (const int32_t group : span_of(order)) {
              if (group < 0 || group >= groups) throw nb::index_error("group index out of range");
            }
            BatchMira::Pass done;
            {
              const nb::gil_scoped_release release;
              done = h.mira.pass(span_of(order));
            }
            return nb::make_tuple(done.steps, done.loss);
          },
          "order"_a.noconvert(),
          nb::sig("def run(self, order: numpy.typing.NDArray[numpy.int32]) -> tuple[int, float]"),
          "Make a pass over the groups in the given order; return the number of steps and the "
          "summed loss.")
      .def_prop_ro(
          "weights",
          [](const MiraHandle& h) { return own_array(std::vector<double>(h.mira.weights())); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "average", [](const MiraHandle& h) { return own_array(h.mira.average()); },
          nb::rv_policy::automatic, "The mean of the weights after each step so far.");
}

void bind_forest_gain(nb::module_& m) {
  nb::class_<ForestGain>(m, "ForestGain",
                         "Expected gain and entropy (in nats) of forests, with gradients.")
      .def(nb::init<std::vector<Forest>, FeatureId>(), "forests"_a, "gain"_a)
      .def("__len__", &ForestGain::size)
      .def_prop_ro(
          "ids", [](const ForestGain& self) { return own_array(std::vector(self.ids())); },
          nb::rv_policy::automatic)
      .def(
          "evaluate",
          [](const ForestGain& self, InArray<double> vector, double gamma, size_t threads) {
            ForestGain::Sums sums;
            {
              const nb::gil_scoped_release release;
              sums = self.evaluate(span_of(vector), gamma, threads);
            }
            return nb::make_tuple(sums.gain, own_array(std::move(sums.gain_slope)), sums.entropy,
                                  own_array(std::move(sums.entropy_slope)));
          },
          "vector"_a.noconvert(), "gamma"_a, "threads"_a,
          nb::sig("def evaluate(self, vector: numpy.typing.NDArray[numpy.float64], gamma: float, "
                  "threads: int) -> tuple[float, numpy.typing.NDArray[numpy.float64], float, "
                  "numpy.typing.NDArray[numpy.float64]]"),
          "Return the summed gain, its gradient, the summed entropy and its gradient.")
      .def(
          "variance",
          [](const ForestGain& self, InArray<double> vector, size_t threads) {
            const nb::gil_scoped_release release;
            return self.variance(span_of(vector), threads);
          },
          "vector"_a.noconvert(), "threads"_a,
          "Return the summed variance of w.f under uniform distributions over derivations.");
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
      "Return the keys (hashes of string and features), begin, feature ids and feature values of "
      "derivations.");
  m.def(
      "row_scores",
      [](Matrix dense, InArray<int64_t> begin, InArray<int32_t> columns, InArray<float> values,
         InArray<double> weights, size_t threads) {
        if (weights.size() < dense.shape(1))
          throw nb::value_error("expected one weight per feature");
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
      "Return w.f of every row; equal rows have equal scores.");
  m.def(
      "best_rows",
      [](InArray<double> scores, InArray<int64_t> begin) {
        const auto s = span_of(scores);
        const auto b = span_of(begin);
        if (b.empty() || b.front() != 0 || static_cast<size_t>(b.back()) != s.size() ||
            !std::is_sorted(b.begin(), b.end())) {
          throw nb::value_error("begin must be offsets of the scores");
        }
        std::vector<int64_t> best;
        best.reserve(b.size() - 1);
        for (size_t g = 0; g + 1 < b.size(); ++g) {
          const auto first = s.begin() + b[g], last = s.begin() + b[g + 1];
          best.push_back(first == last ? -1 : std::max_element(first, last) - s.begin());
        }
        return own_array(std::move(best));
      },
      "scores"_a.noconvert(), "begin"_a.noconvert(),
      nb::sig("def best_rows(scores: numpy.typing.NDArray[numpy.float64], "
              "begin: numpy.typing.NDArray[numpy.int64]) -> numpy.typing.NDArray[numpy.int64]"),
      "Return per group the row with the largest score (ties: the first), -1 for an empty group.");
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
      "Return the weights of features as float64.");
  m.def(
      "assign_weights",
      [](Weights& weights, InArray<uint64_t> ids, InArray<double> values) {
        if (ids.size() != values.size()) throw nb::value_error("expected as many values as ids");
        for (size_t i = 0; i < ids.size(); ++i) {
          if (ids.data()[i] == 0) throw nb::value_error("0 is not a valid feature id");
          weights.set(ids.data()[i], static_cast<float>(values.data()[i]));
        }
      },
      "weights"_a, "ids"_a.noconvert(), "values"_a.noconvert(), "Set the weights of features.");
  bind_line_search(m);
  bind_batch_mira(m);
  bind_forest_gain(m);
}

}  // namespace hopefear::bind
