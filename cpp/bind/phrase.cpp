// The phrase decoder.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <tuple>

#include "bind/dense.hpp"
#include "bind/forest_arrays.hpp"
#include "bind/spans.hpp"
#include "bind/training_pair.hpp"

namespace hopefear::bind {
namespace {

using namespace decode;

// `options`: tuples (begin, end, target words, log probability). `leave_out`: None or (target
// words, number of the pair or -1).
void make_input(PhraseInput* self, nb::handle words, nb::handle after, nb::handle tags,
                nb::handle id, nb::handle options, bool exclusive, nb::handle leave_out) {
  PhraseInput input;
  nb::object held;
  input.id = text_of(id, held);
  input.words = strings_of(words);
  input.after = strings_of(after);
  input.tags = tags_of(tags, input.words.size() + input.after.size());
  for (const nb::handle option : options) {
    const auto part = [&](size_t i) { return nb::object(nb::borrow(option)[i]); };
    input.forced.push_back({nb::cast<int32_t>(part(0)), nb::cast<int32_t>(part(1)),
                            strings_of(part(2)), nb::cast<double>(part(3))});
  }
  input.exclusive = exclusive;
  input.leave_out = training_pair(leave_out);
  new (self) PhraseInput(std::move(input));
}

// The set of orientations, whether the table has backward and forward scores, and the names of
// their features if they are collapsed.
using Reordering = std::tuple<std::string, bool, bool, std::vector<std::string>>;

ReorderingSpec reordering_of(const Reordering& given) {
  static const std::map<std::string, features::Orientations> known = {
      {"msd", features::kMsd},
      {"mslr", features::kMslr},
      {"monotonicity", features::kMonotonicity},
      {"leftright", features::kLeftRight}};
  const auto& [name, backward, forward, collapsed] = given;
  const auto set = known.find(name);
  if (set == known.end()) throw nb::value_error(("no orientations " + name).c_str());
  return {set->second, backward, forward, collapsed};
}

void make_model(PhraseModel* self, std::shared_ptr<rules::RuleTable> table,
                const std::vector<LmFeature>& lms, const DenseFeatures& features,
                const std::optional<Reordering>& reordering,
                const std::vector<std::shared_ptr<features::Template>>& templates) {
  PhraseSpec spec;
  const auto count = [&](const std::string& key) -> CountSpec {
    const auto [name, unit] = feature_called(features, key);
    return {name, static_cast<float>(unit)};
  };
  for (const auto& [model, name, unit] : lms) {
    spec.lms.push_back({model, name, unit, count("unknown." + name)});
  }
  spec.words = count("words");
  spec.phrases = count("phrases");
  spec.distortion = count("distortion");
  if (const CountSpec early = count("early-distortion"); !early.name.empty()) {
    spec.distortion = early;
    spec.early_distortion = true;
  }
  if (reordering) spec.reordering = reordering_of(*reordering);
  spec.unknown = count("unknown");
  spec.templates.assign(templates.begin(), templates.end());
  const nb::gil_scoped_release release;
  new (self) PhraseModel(std::move(table), std::move(spec));
}

}  // namespace

std::pair<int32_t, int32_t> Spans::check(int64_t begin, int64_t end) const {
  const SpanTable& table = *result.table;
  if (begin < 0 || end > table.length() ||
      !table.has(static_cast<int32_t>(begin), static_cast<int32_t>(end))) {
    throw nb::index_error(("no span " + std::to_string(begin) + " .. " + std::to_string(end) +
                           ": expected one of 1 to " + std::to_string(table.width()) +
                           " words, or one that ends at " + std::to_string(table.length()))
                              .c_str());
  }
  return {static_cast<int32_t>(begin), static_cast<int32_t>(end)};
}

void bind_phrase(nb::module_& m) {
  nb::class_<PhraseSettings>(m, "PhraseSettings", "Limits of phrase search.")
      .def(
          "__init__",
          [](PhraseSettings* self, bool stack, uint32_t beam, uint32_t pop_limit, double threshold,
             int32_t distortion_limit, size_t table_limit, size_t long_sentence) {
            if (beam < 1 || pop_limit < 1)
              throw nb::value_error("beam and pop_limit must be at least 1");
            new (self) PhraseSettings{
                {stack, beam, pop_limit, threshold, distortion_limit}, table_limit, long_sentence};
          },
          "stack"_a, "beam"_a, "pop_limit"_a, "threshold"_a, "distortion_limit"_a, "table_limit"_a,
          "long_sentence"_a)
      .def(
          "limits",
          [](const PhraseSettings& s, size_t words) {
            const SearchLimits limits = limits_for(s, words);
            return std::tuple(limits.beam, limits.pop_limit, limits.distortion);
          },
          "words"_a,
          "Return the beam, pop limit and distortion limit for a sentence of this number of "
          "words.");

  nb::class_<Spans>(m, "BestSpans", "The best monotone translation of each span, out of context.")
      .def_prop_ro("length", [](const Spans& s) { return s.result.table->length(); })
      .def_prop_ro(
          "width", [](const Spans& s) { return s.result.table->width(); },
          "Longest span in words; all spans that end with the sentence are included too.")
      .def(
          "score",
          [](const Spans& s, int64_t begin, int64_t end) {
            const auto [i, j] = s.check(begin, end);
            return s.result.table->score(i, j);
          },
          "begin"_a, "end"_a, "Return the future cost of a span: a score, higher is better.")
      .def(
          "words",
          [](const Spans& s, int64_t begin, int64_t end) {
            const auto [i, j] = s.check(begin, end);
            nb::list words;
            for (const int32_t id : s.result.table->words(i, j)) {
              words.append(to_python(s.result.options->vocabulary()->word(id)));
            }
            return words;
          },
          "begin"_a, "end"_a, nb::sig("def words(self, begin: int, end: int) -> list[str]"),
          "Return the best translation of a span.");

  nb::class_<PhraseInput>(m, "PhraseInput", "A sentence for phrase search.")
      .def("__init__", make_input, "words"_a, "after"_a, "tags"_a, "id"_a, "options"_a,
           "exclusive"_a, "leave_out"_a.none());

  nb::class_<PhraseModel>(
      m, "PhraseModel",
      "The model of phrase search: rule table, language models, templates and feature names.")
      .def("__init__", make_model, "table"_a, "lms"_a, "features"_a, "reordering"_a.none(),
           "templates"_a)
      .def_prop_ro("dense",
                   [](const PhraseModel& model) {
                     std::vector<nb::str> names;
                     for (const std::string& name : model.names()) names.push_back(to_python(name));
                     return names;
                   })
      .def(
          "decode",
          [](std::shared_ptr<PhraseModel> self, const PhraseInput& input, const Weights& weights,
             const PhraseSettings& settings, std::shared_ptr<FeatureNames> names, bool named,
             FeatureId summed) {
            features::NameLog log(self->recent_names(names));
            PhraseResult result;
            {
              const nb::gil_scoped_release release;
              result = decode::decode(*self, weights, input, settings, names,
                                      named ? &log : nullptr, summed);
            }
            // With the GIL, so that no other thread uses the names.
            log.move_to(*names);
            return std::pair(std::move(result.forest), Spans{self, std::move(result.spans)});
          },
          "input"_a, "weights"_a, "settings"_a, "names"_a, "named"_a, "summed"_a,
          "Return the forest and the best translation of each span. summed: a feature that "
          "replaces those of all templates by their score; 0: none.")
      .def(
          "name_features",
          [](std::shared_ptr<PhraseModel> self, const PhraseInput& input, const Forest& forest,
             const nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig>& edges,
             const SparseVector& requested, std::shared_ptr<FeatureNames> names) {
            features::NameLog log(self->recent_names(names), requested.ids());
            {
              const nb::gil_scoped_release release;
              decode::sparse_features(*self, input, forest, {edges.data(), edges.size()}, &log);
            }
            log.move_to(*names);
          },
          "input"_a, "forest"_a, nb::arg("edges").noconvert(), "wanted"_a, "names"_a,
          "Add the names of those of the wanted features that a derivation of the forest has.")
      .def(
          "sparse_features",
          [](const PhraseModel& self, const PhraseInput& input, const Forest& forest,
             const nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig>& edges) {
            const nb::gil_scoped_release release;
            return decode::sparse_features(self, input, forest, {edges.data(), edges.size()},
                                           nullptr);
          },
          "input"_a, "forest"_a, nb::arg("edges").noconvert(),
          "Return the features of templates on a derivation of the forest, which may be without "
          "them.")
      .def(
          "force",
          [](std::shared_ptr<PhraseModel> self, const PhraseInput& input, nb::handle references,
             const Weights& weights, const PhraseSettings& settings, bool prefix,
             int32_t shortest_prefix, uint64_t most_nodes, size_t table_limit,
             std::shared_ptr<FeatureNames> names, bool named) {
            std::vector<std::vector<std::string>> targets;
            for (const nb::handle reference : references) targets.push_back(strings_of(reference));
            features::NameLog log(self->recent_names(names));
            ForcedResult result;
            {
              const nb::gil_scoped_release release;
              result = decode::force(*self, weights, input, targets, settings,
                                     {prefix, shortest_prefix, most_nodes, table_limit}, names,
                                     named ? &log : nullptr);
            }
            log.move_to(*names);
            return std::tuple(std::move(result.forest), result.complete, result.source_words,
                              result.target_words, result.nodes, result.too_many);
          },
          "input"_a, "references"_a, "weights"_a, "settings"_a, "prefix"_a, "shortest_prefix"_a,
          "most_nodes"_a, "table_limit"_a, "names"_a, "named"_a,
          "Return all derivations of the references: the forest, whether it covers the complete "
          "sentence, source and target words, nodes made by the search, whether it reached the "
          "limit on nodes.")
      .def(
          "best_spans",
          [](std::shared_ptr<PhraseModel> self, const PhraseInput& input, const Weights& weights,
             const PhraseSettings& settings, int32_t width) {
            const nb::gil_scoped_release release;
            return Spans{self, decode::best_spans(*self, weights, input, settings, width)};
          },
          "input"_a, "weights"_a, "settings"_a, "width"_a,
          "Return the best translation of each span of up to width words; -1: the spans of search.")
      .def(
          "score_derivation",
          [](const PhraseModel& self, const PhraseInput& input, nb::handle phrases,
             FeatureNames& names) {
            std::vector<PhraseUse> uses;
            for (const nb::handle phrase : phrases) {
              const auto part = [&](size_t i) { return nb::object(nb::borrow(phrase)[i]); };
              uses.push_back(
                  {nb::cast<int32_t>(part(0)), nb::cast<int32_t>(part(1)), strings_of(part(2))});
            }
            features::NameLog log;
            SparseVector result;
            {
              const nb::gil_scoped_release release;
              result = decode::score_derivation(self, input, uses, log);
            }
            log.move_to(names);
            return result;
          },
          "input"_a, "phrases"_a, "names"_a,
          "Return the features of a derivation, given as (begin, end, target words) in target "
          "order.");
}

}  // namespace hopefear::bind
