// Candidates of search-aware tuning: the bins of phrase search.
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>

#include <memory>

#include "base/hash.hpp"
#include "base/probing_table.hpp"
#include "bind/forest_arrays.hpp"
#include "bind/spans.hpp"
#include "decode/future.hpp"
#include "learn/bins.hpp"
#include "metrics/reference_set.hpp"

namespace hopefear::bind {
namespace {

// The statistics of all rows, flattened.
std::vector<int32_t> statistics_of(const BinRows& found, const ReferenceSet& references,
                                   int32_t sentence) {
  std::vector<Hypothesis> lines(found.size());
  for (size_t row = 0; row < found.size(); ++row) lines[row].line = found.line(row);
  const std::vector<int32_t> sentences(found.size(), sentence);
  std::vector<int32_t> rows(found.size() * references.columns());
  references.count(lines, sentences, 1, rows.data());
  return rows;
}

nb::tuple bin_rows(const Forest& forest, const Weights& weights, uint32_t first, uint32_t last,
                   const Spans* spans, bool potential, bool future, const ReferenceSet* references,
                   int32_t sentence, std::shared_ptr<FeatureNames> names) {
  if ((potential || future) && spans == nullptr)
    throw nb::value_error("potential and future need spans");
  if (references != nullptr &&
      (sentence < 0 || static_cast<size_t>(sentence) >= references->sentences())) {
    throw nb::index_error("sentence index out of range");
  }
  features::NameLog log(spans != nullptr ? spans->model->recent_names(names) : nullptr);
  BinRows found;
  std::vector<int32_t> statistics;
  {
    const nb::gil_scoped_release release;
    Completion completion;
    std::unique_ptr<Future> rest;
    if (spans != nullptr) {
      rest = std::make_unique<decode::PhraseFuture>(*spans->model, spans->result, &weights, &log);
      if (potential) completion.strings = rest.get();
      if (future) completion.features = rest.get();
    }
    found = collect_bins(forest, weights, first, last, completion);
    if (references != nullptr) statistics = statistics_of(found, *references, sentence);
  }
  log.move_to(*names);
  nb::object texts = nb::none();
  if (references == nullptr) {
    nb::list lines;
    for (size_t row = 0; row < found.size(); ++row) lines.append(to_python(found.line(row)));
    texts = lines;
  }
  return nb::make_tuple(own_array(std::move(found.bins)), own_array(std::move(found.rows.keys)),
                        own_array(std::move(found.rows.begin)),
                        own_array(std::move(found.rows.ids)),
                        own_array(std::move(found.rows.values)), own_array(std::move(found.scores)),
                        own_array(std::move(statistics)), texts);
}

}  // namespace

void bind_bins(nb::module_& m) {
  m.def("bin_rows", &bin_rows, "forest"_a, "weights"_a, "first"_a, "last"_a, "spans"_a.none(),
        "potential"_a, "future"_a, "references"_a.none(), "sentence"_a, "names"_a,
        nb::sig("def bin_rows(forest: Forest, weights: WeightTable, first: int, last: int, "
                "spans: BestSpans | None, potential: bool, future: bool, "
                "references: ReferenceSet | None, sentence: int, names: FeatureNames) -> tuple["
                "numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.uint64], "
                "numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.uint64], "
                "numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float64], "
                "numpy.typing.NDArray[numpy.int32], list[str] | None]"),
        "Return the best derivation of each node of the bins first .. last, best first, as arrays: "
        "begin of the bins, keys, begin, feature ids, feature values, scores, statistics "
        "(flattened) and, without references, the strings.");
  nb::class_<KeySet>(m, "KeySet", "The set of the candidates of a pool, as hashes.")
      .def(nb::init<>())
      .def("__len__", &KeySet::size)
      .def(
          "add",
          [](KeySet& set, InArray<uint64_t> keys, InArray<int32_t> sentences,
             InArray<int32_t> bins) {
            if (sentences.size() != keys.size() || bins.size() != keys.size()) {
              throw nb::value_error("expected one sentence and one bin per key");
            }
            std::vector<uint8_t> is_new(keys.size());
            for (size_t i = 0; i < keys.size(); ++i) {
              const auto group = static_cast<uint64_t>(static_cast<uint32_t>(sentences.data()[i]))
                                     << 32 |
                                 static_cast<uint32_t>(bins.data()[i]);
              is_new[i] = set.add(combine64(keys.data()[i], group));
            }
            return own_array(std::move(is_new));
          },
          "keys"_a.noconvert(), "sentences"_a.noconvert(), "bins"_a.noconvert(),
          nb::rv_policy::automatic,
          "Add candidates by key, sentence and bin; return 1 for each new one, else 0.");
}

}  // namespace hopefear::bind
