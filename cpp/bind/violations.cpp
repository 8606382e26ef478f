// Good and bad derivations of the bins of phrase search.
#include "learn/violations.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>

#include <memory>

#include "bind/forest_arrays.hpp"
#include "bind/spans.hpp"
#include "decode/future.hpp"

namespace hopefear::bind {
namespace {

OutArray<double> column(const Violations& violations, double Violations::Bin::* member) {
  std::vector<double> values;
  for (const Violations::Bin& bin : violations.bins()) values.push_back(bin.*member);
  return own_array(std::move(values));
}

SparseVector future_difference(const Violations& violations, size_t bin, const Spans& spans,
                               const Weights& weights, std::shared_ptr<FeatureNames> names) {
  features::NameLog log(spans.model->recent_names(names));
  SparseVector difference;
  {
    const nb::gil_scoped_release release;
    decode::PhraseFuture future(*spans.model, spans.result, &weights, &log);
    std::vector<uint32_t> options;
    const auto features = [&](std::span<const uint64_t> coverage) {
      future.options(coverage, options);
      return future.features(options);
    };
    difference =
        features(violations.good_coverage(bin)).plus(features(violations.bad_coverage(bin)), -1);
  }
  log.move_to(*names);
  return difference;
}

}  // namespace

void bind_violations(nb::module_& m) {
  nb::class_<Violations>(
      m, "Violations",
      "The best good and bad derivations of the bins of phrase search, by number of covered words.")
      .def(
          "__init__",
          [](Violations* self, const Forest& beam, const Forest& gold, const Weights& weights,
             bool complete, const Spans* spans) {
            const nb::gil_scoped_release release;
            if (spans == nullptr) {
              new (self) Violations(beam, gold, weights, complete);
              return;
            }
            const decode::PhraseFuture future(*spans->model, spans->result);
            new (self) Violations(beam, gold, weights, complete, &future);
          },
          "beam"_a, "gold"_a, "weights"_a, "complete"_a, "spans"_a.none() = nb::none())
      .def_prop_ro(
          "good", [](const Violations& v) { return column(v, &Violations::Bin::good); },
          nb::rv_policy::automatic, "Per bin: score of the best good derivation, -inf for none.")
      .def_prop_ro(
          "bad", [](const Violations& v) { return column(v, &Violations::Bin::bad); },
          nb::rv_policy::automatic,
          "Per bin: score of the best bad derivation in the beam, -inf for none.")
      .def_prop_ro(
          "survivor", [](const Violations& v) { return column(v, &Violations::Bin::survivor); },
          nb::rv_policy::automatic,
          "Per bin: score of the best good derivation in the beam, -inf for none.")
      .def_prop_ro("longest", &Violations::longest,
                   "Length in source words of the longest phrase in the gold forest.")
      .def_prop_ro(
          "last_nodes", [](const Violations& v) { return own_array(v.last_nodes()); },
          nb::rv_policy::automatic, "The beam's nodes in the last bin.")
      .def(
          "pair",
          [](const Violations& v, size_t bin) { return std::pair(v.good(bin), v.bad(bin)); },
          "bin"_a,
          "Return the best good and the best bad derivation of a bin; IndexError if there is none.")
      .def("difference", &Violations::difference, "bin"_a, nb::call_guard<nb::gil_scoped_release>(),
           "Return the features of the good minus those of the bad derivation of a bin.")
      .def("future_difference", &future_difference, "bin"_a, "spans"_a, "weights"_a, "names"_a,
           "Return the same difference for the best translations of the spans that each of them "
           "leaves uncovered.");
}

}  // namespace hopefear::bind
