// The engine call of hopefear.lm.estimate.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <vector>

#include "bind/bind.hpp"
#include "lm/estimate.hpp"

namespace hopefear::bind {
namespace {

nb::typed<nb::dict, nb::str, nb::any> report_of(const lm::EstimateReport& report) {
  nb::typed<nb::dict, nb::str, nb::any> result;
  result["sentences"] = report.sentences;
  result["tokens"] = report.tokens;
  result["types"] = report.types;
  result["spilled_bytes"] = report.spilled_bytes;
  nb::list orders;
  for (const lm::EstimatedOrder& order : report.orders) {
    const auto& d = order.discounts;
    orders.append(nb::make_tuple(order.written, order.distinct, nb::make_tuple(d[0], d[1], d[2]),
                                 order.fell_back));
  }
  result["orders"] = orders;
  return result;
}

nb::typed<nb::dict, nb::str, nb::any> estimate_lm(nb::typed<nb::list, nb::any> files,
                                                  const std::vector<std::string>& names,
                                                  const nb::object& output, int order,
                                                  std::vector<uint64_t> prune,
                                                  std::vector<double> fallback, uint64_t memory,
                                                  size_t threads, const FilePath& scratch,
                                                  bool skip_symbols, nb::object progress) {
  std::vector<std::unique_ptr<PythonSource>> owned;
  std::vector<ByteSource*> sources;
  for (size_t i = 0; i < names.size(); ++i) {
    owned.push_back(std::make_unique<PythonSource>(nb::borrow(files[i]), names[i]));
    sources.push_back(owned.back().get());
  }
  PythonSink sink(output);
  const lm::EstimateOptions options{order,   std::move(prune), std::move(fallback), memory,
                                    threads, scratch.name,     skip_symbols};
  const auto report_progress = progress_callback(std::move(progress));
  lm::EstimateReport report;
  {
    const nb::gil_scoped_release released;
    report = lm::estimate(sources, sink, options, report_progress);
  }
  return report_of(report);
}

}  // namespace

void bind_lm_estimate(nb::module_& m) {
  m.attr("LM_MIN_ESTIMATE_MEMORY") = lm::kMinEstimateMemory;
  m.def("estimate_lm", estimate_lm, "files"_a, "names"_a, "output"_a, nb::kw_only(), "order"_a,
        "prune"_a, "fallback"_a, "memory"_a, "threads"_a, "scratch"_a, "skip_symbols"_a,
        "progress"_a.none(),
        "Estimate a language model from binary text files and write it as ARPA to `output`; return "
        "a report as a dict, per order (n-grams written, distinct n-grams, discounts, whether the "
        "fallback discounts were used).");
}

}  // namespace hopefear::bind
