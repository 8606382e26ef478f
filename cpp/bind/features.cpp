// Feature templates: those of the engine, and those written in Python.
#include "features/feature.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "bind/forest_arrays.hpp"
#include "features/count_discount.hpp"
#include "features/deletion.hpp"
#include "features/insertion.hpp"
#include "features/rule_bigrams.hpp"
#include "features/rule_history.hpp"
#include "features/rule_id.hpp"
#include "features/rule_shape.hpp"
#include "features/structural_distortion.hpp"
#include "features/target_bigrams.hpp"
#include "features/word_context.hpp"
#include "features/word_edges.hpp"
#include "features/word_pairs.hpp"

namespace hopefear::bind {
namespace {

using features::RuleUse;
using features::SourceSpan;
using features::Template;

// A stateless template whose fire() is a Python callable. Engine threads run without the GIL and
// take it for the time of the call.
class PythonTemplate : public Template {
 public:
  // fire(use) gives pairs of a name and a value; `use` is made by calling `make_use`.
  // With `needs_gaps` uses of rules that have nonterminals come with what those cover.
  PythonTemplate(std::string name, nb::object fire, nb::object make_use, bool needs_gaps,
                 bool needs_tags)
      : name_(std::move(name)),
        fire_(std::move(fire)),
        make_use_(std::move(make_use)),
        needs_gaps_(needs_gaps),
        needs_tags_(needs_tags) {}
  ~PythonTemplate() override {
    const nb::gil_scoped_acquire gil;
    fire_.reset();
    make_use_.reset();
  }
  const std::string& name() const override { return name_; }

  bool needs_gaps() const override { return needs_gaps_; }
  bool needs_tags() const override { return needs_tags_; }

  void fire(const RuleUse& use, features::Sink& sink) const override {
    const bool has_gaps = std::any_of(use.source_side.begin(), use.source_side.end(),
                                      [](int32_t symbol) { return symbol < 0; });
    if (!(needs_gaps_ && has_gaps)) call(use, sink);
  }
  void fire_gaps(const RuleUse& use, features::Sink& sink) const override { call(use, sink); }

 private:
  void call(const RuleUse& use, features::Sink& sink) const {
    const nb::gil_scoped_acquire gil;
    const Vocabulary& vocabulary = *use.source->vocabulary;
    nb::list links, gaps, scores;
    for (const rules::Link& link : use.links) {
      links.append(nb::make_tuple(int{link.source}, int{link.target}));
    }
    for (const SourceSpan& gap : use.gaps) gaps.append(nb::make_tuple(gap.begin, gap.end));
    for (const float score : use.scores) scores.append(static_cast<double>(score));
    const nb::tuple counts = nb::make_tuple(static_cast<double>(use.counts.target),
                                            static_cast<double>(use.counts.source),
                                            static_cast<double>(use.counts.joint));
    const nb::object seen = make_use_(
        side(vocabulary, use.source->words), nb::make_tuple(use.span.begin, use.span.end),
        side(vocabulary, use.source_side), side(vocabulary, use.target_side), nb::tuple(links),
        nb::tuple(gaps), nb::tuple(scores), counts, use.rule, side(vocabulary, use.source->tags));
    for (const nb::handle pair : fire_(seen)) {
      if (!nb::isinstance<nb::tuple>(pair) || nb::len(pair) != 2) {
        throw nb::type_error("fire() of a feature gives pairs (name, value)");
      }
      const double value = PyFloat_AsDouble(nb::object(nb::borrow(pair)[1]).ptr());
      if (PyErr_Occurred() != nullptr) throw nb::python_error();
      const nb::object feature = nb::borrow(pair)[0];
      nb::object held;
      sink.add(text_of(feature, held), static_cast<float>(value));
    }
  }

  // Words as str, the k-th nonterminal as the number k.
  static nb::tuple side(const Vocabulary& vocabulary, std::span<const int32_t> symbols) {
    nb::list result;
    for (const int32_t symbol : symbols) {
      if (symbol < 0) {
        result.append(nb::int_(-1 - symbol));
      } else {
        result.append(to_python(vocabulary.word(symbol)));
      }
    }
    return nb::tuple(result);
  }

  std::string name_;
  nb::object fire_, make_use_;
  bool needs_gaps_, needs_tags_;
};

// nanobind has no pointers to const.
std::shared_ptr<Template> made(std::shared_ptr<const Template> feature) {
  return std::const_pointer_cast<Template>(std::move(feature));
}

using Words = std::vector<std::string>;

std::unique_ptr<features::WordSet> set_of(const std::optional<Words>& words) {
  return words.has_value() ? std::make_unique<features::WordSet>(std::span(*words)) : nullptr;
}

using ClassedWord = std::tuple<std::string, std::string, std::string>;  // word, path, tag

features::WordClasses classes_of(std::vector<ClassedWord> words) {
  features::WordClasses classes;
  for (auto& [word, path, tag] : words)
    classes.add(std::move(word), {std::move(path), std::move(tag)});
  return classes;
}

// Combinations of WordEdges as Python has them: a label, and (edge, level) as numbers.
using Combinations = std::vector<std::pair<std::string, std::vector<std::pair<int, int>>>>;

std::vector<features::EdgeCombination> combinations_of(Combinations given) {
  std::vector<features::EdgeCombination> made;
  for (auto& [label, atoms] : given) {
    made.push_back({std::move(label), {}});
    for (const auto& [edge, level] : atoms) {
      if (edge < 0 || edge > static_cast<int>(features::kEdgeWords) || level < 0 ||
          level >= static_cast<int>(features::kLevels))
        throw nb::value_error("no such edge or level");
      made.back().atoms.push_back(
          {static_cast<features::Edge>(edge), static_cast<features::Level>(level)});
    }
  }
  return made;
}

// The engine's templates. Word lists are None where a template tells all words apart.
void bind_templates(nb::module_& m) {
  m.def(
      "target_bigrams",
      [](std::string name, const std::optional<Words>& words) {
        return made(features::make_target_bigrams(std::move(name), set_of(words)));
      },
      "name"_a, "words"_a.none());
  m.def(
      "word_pairs",
      [](std::string name) { return made(features::make_word_pairs(std::move(name))); }, "name"_a);
  m.def(
      "word_context",
      [](std::string name,
         const std::optional<std::vector<std::pair<std::string, std::string>>>& pairs,
         const std::optional<Words>& source, const std::optional<Words>& target) {
        features::ContextWords known;
        known.everything = !source.has_value();
        known.by_pair = pairs.has_value();
        if (pairs.has_value()) known.pairs = features::WordSet(std::span(*pairs));
        if (source.has_value()) known.source = features::WordSet(std::span(*source));
        if (target.has_value()) known.target = features::WordSet(std::span(*target));
        return made(features::make_word_context(std::move(name), std::move(known)));
      },
      "name"_a, "pairs"_a.none(), "source"_a.none(), "target"_a.none());
  m.def(
      "insertion",
      [](std::string name, const std::optional<Words>& words, bool with_source) {
        return made(features::make_insertion(std::move(name), set_of(words), with_source));
      },
      "name"_a, "words"_a.none(), "with_source"_a);
  m.def(
      "deletion",
      [](std::string name, const std::optional<Words>& words) {
        return made(features::make_deletion(std::move(name), set_of(words)));
      },
      "name"_a, "words"_a.none());
  m.def(
      "rule_id", [](std::string name) { return made(features::make_rule_id(std::move(name))); },
      "name"_a);
  m.def(
      "rule_shape",
      [](std::string name, bool runs) {
        return made(features::make_rule_shape(std::move(name), runs));
      },
      "name"_a, "runs"_a);
  m.def(
      "structural_distortion",
      [](std::string name, int32_t longest) {
        return made(features::make_structural_distortion(std::move(name), longest));
      },
      "name"_a, "longest"_a);
  m.def(
      "count_discount",
      [](std::string name, std::vector<int64_t> bins) {
        return made(features::make_count_discount(std::move(name), std::move(bins)));
      },
      "name"_a, "bins"_a);
  m.def(
      "word_edges",
      [](std::string name, Combinations combinations, std::vector<ClassedWord> source,
         std::vector<ClassedWord> target) {
        return made(features::make_word_edges(
            std::move(name), combinations_of(std::move(combinations)),
            classes_of(std::move(source)), classes_of(std::move(target))));
      },
      "name"_a, "combinations"_a, "source"_a, "target"_a);
  m.def("word_type", &features::word_type, "word"_a);
  m.def(
      "rule_bigrams",
      [](std::string name) { return made(features::make_rule_bigrams(std::move(name))); },
      "name"_a);
  m.def(
      "rule_history",
      [](std::string name, std::string_view levels, std::vector<ClassedWord> words) {
        std::vector<features::Level> chosen;
        for (const char level : levels) {
          const size_t at = features::kLevelNames.find(level);
          if (at == std::string_view::npos) throw nb::value_error("no such level");
          chosen.push_back(static_cast<features::Level>(at));
        }
        return made(features::make_rule_history(std::move(name), std::move(chosen),
                                                classes_of(std::move(words))));
      },
      "name"_a, "levels"_a, "words"_a);
}

}  // namespace

void bind_features(nb::module_& m) {
  nb::class_<Template>(m, "FeatureTemplate", "A feature template of the engine; see features/.")
      .def_prop_ro("name", &Template::name)
      .def_prop_ro("stateful", [](const Template& t) { return t.state_size() > 0; })
      .def_prop_ro("left_to_right_only", &Template::left_to_right_only)
      .def_prop_ro("needs_tags", &Template::needs_tags);
  m.def(
      "python_template",
      [](std::string name, nb::object fire, nb::object make_use, bool needs_gaps,
         bool needs_tags) -> std::shared_ptr<Template> {
        return std::make_shared<PythonTemplate>(std::move(name), std::move(fire),
                                                std::move(make_use), needs_gaps, needs_tags);
      },
      "name"_a, "fire"_a, "make_use"_a, "needs_gaps"_a, "needs_tags"_a);
  bind_templates(m);
}

}  // namespace hopefear::bind
