// Feature templates, written in C++ or in Python.
#include "features/feature.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "base/feature_name.hpp"
#include "bind/forest_arrays.hpp"
#include "features/registry.hpp"
#include "features/word_classes.hpp"

namespace hopefear::bind {
namespace {

using features::RuleUse;
using features::SourceSpan;
using features::Template;

// A stateless template whose fire() is a Python callable. Engine threads run without the GIL and
// acquire it for the call.
class PythonTemplate : public Template {
 public:
  // fire(use) returns pairs (name, value); `make_use` constructs the use. With `needs_gaps` the use
  // of a rule with nonterminals includes the spans that they cover.
  PythonTemplate(std::string name, nb::object fire, nb::object make_use, bool needs_gaps,
                 bool needs_tags)
      : Template(std::move(name)),
        fire_(std::move(fire)),
        make_use_(std::move(make_use)),
        needs_gaps_(needs_gaps),
        needs_tags_(needs_tags) {}
  ~PythonTemplate() override {
    const nb::gil_scoped_acquire gil;
    fire_.reset();
    make_use_.reset();
  }

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
    const nb::object python_use = make_use_(
        side(vocabulary, use.source->words), nb::make_tuple(use.span.begin, use.span.end),
        side(vocabulary, use.source_side), side(vocabulary, use.target_side), nb::tuple(links),
        nb::tuple(gaps), nb::tuple(scores), counts, use.rule, side(vocabulary, use.source->tags));
    for (const nb::handle pair : fire_(python_use)) {
      if (!nb::isinstance<nb::tuple>(pair) || nb::len(pair) != 2) {
        throw nb::type_error("fire() of a feature must return pairs (name, value)");
      }
      const double value = PyFloat_AsDouble(nb::object(nb::borrow(pair)[1]).ptr());
      if (PyErr_Occurred() != nullptr) throw nb::python_error();
      const nb::object feature = nb::borrow(pair)[0];
      nb::object held;
      const std::string_view text = text_of(feature, held);
      try {
        check_feature_name(text);
      } catch (const InputError& error) {
        throw InputError("feature template " + name() + ": " + error.what());
      }
      sink.add(text, static_cast<float>(value));
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

  nb::object fire_, make_use_;
  bool needs_gaps_, needs_tags_;
};

// Converts an option of a template from Python; `place` begins messages.
features::OptionValue option_value(nb::handle given, const std::string& place) {
  if (given.is_none()) return {};
  if (PyBool_Check(given.ptr())) return {given.ptr() == Py_True};
  if (PyLong_Check(given.ptr())) {
    int64_t number = 0;
    if (nb::try_cast(given, number)) return {number};
  } else if (PyFloat_Check(given.ptr())) {
    return {PyFloat_AS_DOUBLE(given.ptr())};
  } else if (PyUnicode_Check(given.ptr())) {
    nb::object held;
    return {std::string(text_of(given, held))};
  } else if (PyList_Check(given.ptr()) || PyTuple_Check(given.ptr())) {
    features::OptionValue::List list;
    list.reserve(nb::len(given));
    for (const nb::handle each : given) list.push_back(option_value(each, place));
    return {std::move(list)};
  }
  throw InputError(place + ": found " + nb::cast<std::string>(nb::repr(given)) +
                   ", expected None, bool, int, float, str, or a list or tuple of these; correct "
                   "engine_options() of its Python class");
}

std::shared_ptr<Template> engine_template(const std::string& name, nb::dict options) {
  features::Options::Values values;
  for (const auto& [key, value] : options) {
    const auto option = nb::cast<std::string>(key);
    values[option] = option_value(value, "feature template " + name + ": option " + option);
  }
  return features::make_template(name, std::move(values));
}

}  // namespace

void bind_features(nb::module_& m) {
  nb::class_<Template>(m, "FeatureTemplate", "A feature template; see hopefear.features.")
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
      "name"_a, "fire"_a, "make_use"_a, "needs_gaps"_a, "needs_tags"_a,
      "Return a stateless template whose fire() is a Python callable.");
  m.def("engine_template", &engine_template, "name"_a, "options"_a,
        nb::sig("def engine_template(name: str, options: dict[str, object]) -> FeatureTemplate"),
        "Return the engine's template with a name and options; InputError for unknown, missing or "
        "wrong options.");
  m.def("engine_templates", &features::template_names,
        "Return the names of the engine's templates.");
  m.def("word_type", &features::word_type, "word"_a,
        "Return the type of a word: digits, letters, punctuation or other.");
}

}  // namespace hopefear::bind
