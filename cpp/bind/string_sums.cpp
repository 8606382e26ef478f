// Sums over the derivations of strings, and histograms of sampled strings.
#include "forest/string_sum.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "bind/forest_arrays.hpp"
#include "forest/sample.hpp"

namespace hopefear::bind {
namespace {

// Best score, log Z / scale, number of derivations, expected features.
using Sum = std::tuple<double, double, double, SparseVector>;

Sum parts_of(DerivationSum&& sum) {
  return {sum.best, sum.log_sum, sum.derivations, std::move(sum.features)};
}

void check_scale(double scale) {
  if (!(scale > 0)) {
    throw nb::value_error(
        ("scale " + std::to_string(scale) + ": expected a number above 0").c_str());
  }
}

Sum derivation_sum(const Forest& forest, InArray<double> scores, InArray<uint32_t> roots,
                   double scale) {
  check_scale(scale);
  const nb::gil_scoped_release release;
  check_scores(forest, span_of(scores));
  return parts_of(sum_of(forest, span_of(scores), check_roots(forest, span_of(roots)), scale));
}

std::vector<Sum> string_sums(const Forest& forest, InArray<double> scores, InArray<uint32_t> roots,
                             const std::vector<std::vector<nb::str>>& targets, double scale,
                             size_t limit) {
  check_scale(scale);
  std::vector<std::vector<int32_t>> strings;
  for (const std::vector<nb::str>& target : targets) {
    std::vector<int32_t>& words = strings.emplace_back();
    for (const nb::str& word : target)
      words.push_back(forest.vocabulary()->find(from_python(word)));
  }
  const nb::gil_scoped_release release;
  check_scores(forest, span_of(scores));
  const std::vector<uint32_t> sorted = check_roots(forest, span_of(roots));
  StringSums sums(forest, span_of(scores), sorted);
  std::vector<Sum> result;
  for (const std::vector<int32_t>& string : strings) {
    result.push_back(parts_of(sums.sum(string, scale, limit)));
  }
  return result;
}

std::vector<std::pair<Derivation, uint32_t>> sampled(const Forest& forest, InArray<double> scores,
                                                     InArray<uint32_t> roots, size_t count,
                                                     uint64_t seed) {
  const nb::gil_scoped_release release;
  check_scores(forest, span_of(scores));
  const std::vector<uint32_t> sorted = check_roots(forest, span_of(roots));
  std::vector<std::pair<Derivation, uint32_t>> result;
  for (SampledString& string : sample_strings(forest, span_of(scores), sorted, count, seed)) {
    result.emplace_back(std::move(string.best), string.count);
  }
  return result;
}

}  // namespace

void bind_string_sums(nb::module_& m) {
  m.def("derivation_sum", &derivation_sum, "forest"_a, "scores"_a.noconvert(),
        "roots"_a.noconvert(), "scale"_a,
        "Return the best score, log(Z) / scale, the number and the expected features of the "
        "derivations of the roots.");
  m.def("string_sums", &string_sums, "forest"_a, "scores"_a.noconvert(), "roots"_a.noconvert(),
        "targets"_a, "scale"_a, "limit"_a,
        "Return the same of the derivations of each of the strings.");
  m.def("sample_strings", &sampled, "forest"_a, "scores"_a.noconvert(), "roots"_a.noconvert(),
        "count"_a, "seed"_a,
        "Return the distinct strings of a sample of derivations, each with the best of its sampled "
        "derivations and its frequency, the most frequent first.");
}

}  // namespace hopefear::bind
