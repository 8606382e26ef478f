// Feature templates: those of the engine, and those written in Python.
#include "features/feature.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <memory>

#include "bind/forest_arrays.hpp"
#include "features/target_bigrams.hpp"

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
  PythonTemplate(std::string name, nb::object fire, nb::object make_use)
      : name_(std::move(name)), fire_(std::move(fire)), make_use_(std::move(make_use)) {}
  ~PythonTemplate() override {
    const nb::gil_scoped_acquire gil;
    fire_.reset();
    make_use_.reset();
  }
  const std::string& name() const override { return name_; }

  void fire(const RuleUse& use, features::Sink& sink) const override {
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
    const nb::object seen =
        make_use_(side(vocabulary, use.source->words), nb::make_tuple(use.span.begin, use.span.end),
                  side(vocabulary, use.source_side), side(vocabulary, use.target_side),
                  nb::tuple(links), nb::tuple(gaps), nb::tuple(scores), counts, use.rule);
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

 private:
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
};

}  // namespace

void bind_features(nb::module_& m) {
  nb::class_<Template>(m, "FeatureTemplate", "A feature template of the engine; see features/.")
      .def_prop_ro("name", &Template::name)
      .def_prop_ro("stateful", [](const Template& t) { return t.state_size() > 0; });
  m.def(
      "python_template",
      [](std::string name, nb::object fire, nb::object make_use) -> std::shared_ptr<Template> {
        return std::make_shared<PythonTemplate>(std::move(name), std::move(fire),
                                                std::move(make_use));
      },
      "name"_a, "fire"_a, "make_use"_a);
  m.def(
      "target_bigrams",
      [](std::string name) {
        return std::const_pointer_cast<Template>(features::make_target_bigrams(std::move(name)));
      },
      "name"_a);
}

}  // namespace hopefear::bind
