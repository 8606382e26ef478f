// The hierarchical decoder for Python.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "bind/dense.hpp"
#include "bind/forest_arrays.hpp"
#include "bind/training_pair.hpp"
#include "decode/chart_decoder.hpp"

namespace hopefear::bind {
namespace {

using decode::ChartDecoder;

features::ChartFeatures dense_features(const std::vector<LmFeature>& lms,
                                       const DenseFeatures& features, FeatureNames& names) {
  features::ChartFeatures dense;
  const auto count = [&](const DenseFeature& feature) -> features::Count {
    const auto& [name, unit] = feature;
    if (name.empty()) return {};
    dense.ids.push_back(names.intern(name));
    return {static_cast<uint32_t>(dense.ids.size() - 1), static_cast<float>(unit)};
  };
  const auto called = [&](const std::string& key) { return count(feature_called(features, key)); };
  for (const auto& [model, name, unit] : lms) dense.lms.push_back({count({name, unit})});
  for (const auto& [model, name, unit] : lms) dense.lm_unknown.push_back(called("unknown." + name));
  for (const char* key : {"arity0", "arity1", "arity2"}) dense.arity.push_back(called(key));
  dense.words = called("words");
  dense.source_words = called("source-words");
  dense.rules = called("rules");
  dense.glue = called("glue");
  dense.pass_through = called("pass-through");
  return dense;
}

void intern_columns(const rules::RuleTable& table, FeatureNames& names) {
  for (const std::string& column : table.columns().names) names.intern(column);
  for (size_t i = 0; i < table.sparse_names().size(); ++i) {
    names.intern(table.sparse_names().word(static_cast<rules::Word>(i)));
  }
}

// (forest, span limit, beam, nodes and edges before the language model, edges scored, dropped unary
// rules)
using Answer = nb::typed<nb::tuple, Forest, size_t, size_t, size_t, size_t, size_t,
                         nb::typed<nb::list, std::string>>;
Answer tuple_of(ChartDecoder::Output&& output) {
  nb::list dropped;
  for (const std::string& rule : output.dropped) dropped.append(to_python(rule));
  return nb::make_tuple(std::move(output.forest), output.span_limit, output.beam, output.nodes,
                        output.edges, output.scored, dropped);
}

// Runs f(input, names) without the GIL, then moves new feature names to the decoder's, with the
// GIL.
template <typename F>
Answer run(const ChartDecoder& decoder, nb::handle words, nb::handle tags, nb::handle id,
           nb::handle leave_out, std::shared_ptr<rules::RuleTable> grammar, F&& f) {
  const std::vector<std::string> text = strings_of(words), text_tags = tags_of(tags, text.size());
  nb::object held;
  const std::string name(text_of(id, held));
  const std::optional<decode::TrainingPair> pair = training_pair(leave_out);
  if (grammar != nullptr) intern_columns(*grammar, *decoder.model().names);
  features::NameLog names(decoder.model().recent_names);
  ChartDecoder::Output output;
  std::vector<FeatureId> kept;  // templates fire for every rule, but few features are in the forest
  {
    const nb::gil_scoped_release release;
    output = f(ChartDecoder::Input{text, name, std::move(grammar), text_tags, pair}, names);
    const auto ids = output.forest.arrays().feature_ids;
    kept.assign(ids.begin(), ids.end());
    std::sort(kept.begin(), kept.end());
  }
  names.move_to(*decoder.model().names, kept);
  return tuple_of(std::move(output));
}

}  // namespace

void bind_chart(nb::module_& m) {
  nb::class_<ChartDecoder>(m, "ChartDecoder", "Use hopefear.decode.HieroDecoder.")
      .def(
          "__init__",
          [](ChartDecoder* self, const std::vector<std::shared_ptr<rules::RuleTable>>& tables,
             const std::vector<LmFeature>& lms, const DenseFeatures& features,
             const std::vector<std::shared_ptr<features::Template>>& templates,
             std::shared_ptr<FeatureNames> names, int32_t span_limit, uint32_t rule_limit,
             bool glue, bool pass_through_all, uint64_t edge_limit, const std::string& label,
             const std::string& glue_label, const std::string& goal_label, bool glue_all) {
            features::ChartFeatures dense = dense_features(lms, features, *names);
            std::vector<std::shared_ptr<const lm::Model>> models;
            for (const LmFeature& lm : lms) models.push_back(std::get<0>(lm));
            for (const auto& table : tables) intern_columns(*table, *names);
            const decode::ChartOptions options = {span_limit,       rule_limit, glue,
                                                  pass_through_all, edge_limit, label,
                                                  glue_label,       goal_label, glue_all};
            const nb::gil_scoped_release release;
            new (self) ChartDecoder(options, std::move(dense), {tables.begin(), tables.end()},
                                    std::move(models), {templates.begin(), templates.end()},
                                    std::move(names));
          },
          "tables"_a, "lms"_a, "features"_a, "templates"_a, "names"_a, "span_limit"_a,
          "rule_limit"_a, "glue"_a, "pass_through_all"_a, "edge_limit"_a, "label"_a, "glue_label"_a,
          "goal_label"_a, "glue_all"_a)
      .def(
          "parse",
          [](const ChartDecoder& self, nb::handle words, nb::handle tags, nb::handle id,
             nb::handle leave_out, const Weights& weights,
             std::shared_ptr<rules::RuleTable> grammar, bool target_features) {
            return run(self, words, tags, id, leave_out, std::move(grammar),
                       [&](const auto& input, auto& names) {
                         return self.parse(input, weights, target_features, names);
                       });
          },
          "words"_a, "tags"_a, "id"_a, "leave_out"_a.none(), "weights"_a, "grammar"_a.none(),
          "target_features"_a,
          "Return the forest before the language model, and statistics of the search.")
      .def(
          "decode",
          [](const ChartDecoder& self, nb::handle words, nb::handle tags, nb::handle id,
             nb::handle leave_out, const Weights& weights,
             std::shared_ptr<rules::RuleTable> grammar, size_t beam) {
            return run(self, words, tags, id, leave_out, std::move(grammar),
                       [&](const auto& input, auto& names) {
                         return self.decode(input, weights, beam, names);
                       });
          },
          "words"_a, "tags"_a, "id"_a, "leave_out"_a.none(), "weights"_a, "grammar"_a.none(),
          "beam"_a,
          "Return the forest of a sentence, and statistics of the search; beam 0: all derivations.")
      .def(
          "constrain",
          [](const ChartDecoder& self, nb::handle words, nb::handle tags, nb::handle id,
             nb::handle leave_out, const Weights& weights,
             std::shared_ptr<rules::RuleTable> grammar, nb::handle target) {
            const std::vector<std::string> target_words = strings_of(target);
            return run(self, words, tags, id, leave_out, std::move(grammar),
                       [&](const auto& input, auto& names) {
                         return self.constrain(input, weights, target_words, names);
                       });
          },
          "words"_a, "tags"_a, "id"_a, "leave_out"_a.none(), "weights"_a, "grammar"_a.none(),
          "target"_a,
          "Return the forest of all derivations of the target, and statistics of the search.");
}

}  // namespace hopefear::bind
