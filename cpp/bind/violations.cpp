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

OutArray<double> column(const Violations& found, double Violations::Bin::* member) {
  std::vector<double> values;
  for (const Violations::Bin& bin : found.bins()) values.push_back(bin.*member);
  return own_array(std::move(values));
}

SparseVector future_difference(const Violations& found, size_t bin, const Spans& spans,
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
    difference = features(found.good_coverage(bin)).plus(features(found.bad_coverage(bin)), -1);
  }
  log.move_to(*names);
  return difference;
}

}  // namespace

void bind_violations(nb::module_& m) {
  nb::class_<Violations>(m, "Violations",
                         "Good and bad derivations of the bins of phrase search, by covered words.")
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
          nb::rv_policy::automatic, "Score of the best good derivation of each bin, -inf for none.")
      .def_prop_ro(
          "bad", [](const Violations& v) { return column(v, &Violations::Bin::bad); },
          nb::rv_policy::automatic, "Score of the best bad derivation in the beam.")
      .def_prop_ro(
          "survivor", [](const Violations& v) { return column(v, &Violations::Bin::survivor); },
          nb::rv_policy::automatic, "Score of the best good derivation in the beam.")
      .def_prop_ro("longest", &Violations::longest,
                   "Source words of the longest phrase of a good derivation.")
      .def_prop_ro(
          "last_nodes", [](const Violations& v) { return own_array(v.last_nodes()); },
          nb::rv_policy::automatic, "The nodes of the beam that the last bin has.")
      .def(
          "pair",
          [](const Violations& v, size_t bin) { return std::pair(v.good(bin), v.bad(bin)); },
          "bin"_a, "The best good and the best bad derivation of a bin; IndexError for none.")
      .def("difference", &Violations::difference, "bin"_a, nb::call_guard<nb::gil_scoped_release>(),
           "Features of good minus features of bad.")
      .def("future_difference", &future_difference, "bin"_a, "spans"_a, "weights"_a, "names"_a,
           "The same of the best translations of what each of them leaves open.");
}

}  // namespace hopefear::bind
