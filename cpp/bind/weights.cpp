#include "base/weights.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <map>
#include <set>

#include "bind/forest_arrays.hpp"

namespace hopefear::bind {
namespace {

FeatureId check_id(FeatureId id) {
  if (id == 0) throw nb::value_error("0 is no feature id");
  return id;
}

SparseVector make_vector(InArray<FeatureId> ids, InArray<float> values) {
  if (ids.size() != values.size()) throw nb::value_error("as many values as ids");
  for (size_t i = 0; i < ids.size(); ++i) check_id(ids.data()[i]);
  return SparseVector(span_of(ids), span_of(values));
}

// How many weights are not 0: of the features named in `dense` together, of others by the part of
// their names before the first colon.
std::map<std::string, size_t> count_by_template(const Weights& table, const FeatureNames& names,
                                                const std::vector<std::string>& dense) {
  std::set<FeatureId> own;
  for (const std::string& name : dense) own.insert(feature_id(name));
  std::map<std::string, size_t, std::less<>> counts;
  const SparseVector all = table.to_vector();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all.values()[i] == 0) continue;
    std::string_view name = own.contains(all.ids()[i]) ? "dense" : names.name(all.ids()[i]);
    name = name.empty() ? "id" : name.substr(0, name.find(':'));
    const auto found = counts.find(name);
    ++(found == counts.end() ? counts[std::string(name)] : found->second);
  }
  return {counts.begin(), counts.end()};
}

}  // namespace

void bind_weights(nb::module_& m) {
  nb::class_<FeatureNames>(m, "FeatureNames", "Names of features by their 64-bit id.")
      .def(nb::init<>())
      .def(
          "intern",
          [](FeatureNames& names, nb::str name) {
            nb::object held;
            return names.intern(text_of(name, held));
          },
          "name"_a, "The name's id; remembers the name.")
      .def(
          "name",
          [](const FeatureNames& names, FeatureId id) -> nb::object {
            const std::string_view name = names.name(id);
            if (name.empty()) return nb::none();
            return to_python(name);
          },
          "id"_a, nb::sig("def name(self, id: int) -> str | None"), "The name, None if unknown.")
      .def("add", &FeatureNames::add, "others"_a, "Remember all names that others have.")
      .def("__len__", &FeatureNames::size)
      .def_prop_ro("bytes", &FeatureNames::bytes, "Memory held.");

  nb::class_<SparseVector>(m, "SparseVector",
                           "Sorted 64-bit feature ids and float values. Immutable.")
      .def(nb::init<>())
      .def(
          "__init__",
          [](SparseVector* self, InArray<FeatureId> ids, InArray<float> values) {
            new (self) SparseVector(make_vector(ids, values));
          },
          "ids"_a.noconvert(), "values"_a.noconvert(),
          "From uint64 ids in any order and float32 values; equal ids are summed.")
      .def("__len__", &SparseVector::size)
      .def("get", &SparseVector::get, "id"_a, "The value of a feature, 0 if absent.")
      .def_prop_ro(
          "ids",
          [](nb::handle self) {
            return view_array(nb::cast<const SparseVector&>(self).ids(), self);
          },
          "Feature ids, ascending (a view, not a copy).")
      .def_prop_ro(
          "values",
          [](nb::handle self) {
            return view_array(nb::cast<const SparseVector&>(self).values(), self);
          },
          "Values (a view, not a copy).")
      .def("dot", &SparseVector::dot, "other"_a)
      .def("plus", &SparseVector::plus, "other"_a, "factor"_a = 1.0, "self + factor * other.")
      .def(
          "scaled",
          [](SparseVector v, double factor) {
            v.scale(factor);
            return v;
          },
          "factor"_a)
      .def(
          "__add__", [](const SparseVector& a, const SparseVector& b) { return a.plus(b); },
          nb::is_operator())
      .def(
          "__sub__", [](const SparseVector& a, const SparseVector& b) { return a.plus(b, -1); },
          nb::is_operator())
      .def(
          "__mul__",
          [](SparseVector v, double factor) {
            v.scale(factor);
            return v;
          },
          nb::is_operator())
      .def(
          "__eq__", [](const SparseVector& a, const SparseVector& b) { return a == b; },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def_prop_ro("norm1", &SparseVector::norm1)
      .def_prop_ro("norm2", &SparseVector::norm2)
      .def_prop_ro("max_norm", &SparseVector::max_norm);

  m.def(
      "weighted_sum",
      [](const std::vector<const SparseVector*>& vectors, const std::vector<double>& factors) {
        if (vectors.size() != factors.size()) throw nb::value_error("as many factors as vectors");
        const nb::gil_scoped_release release;
        return weighted_sum(vectors, factors);
      },
      "vectors"_a, "factors"_a, "The sum of factor * vector.");

  m.def("count_by_template", &count_by_template, "table"_a, "names"_a, "dense"_a,
        nb::call_guard<nb::gil_scoped_release>(),
        "Weights that are not 0: of `dense` features, and by the part of the name before a colon.");

  nb::class_<Weights>(m, "WeightTable", "Feature id -> weight, a hash table.")
      .def(nb::init<>())
      .def(nb::init<const SparseVector&>(), "vector"_a)
      .def("copy", [](const Weights& w) { return w; })
      .def("__len__", &Weights::size)
      .def_prop_ro("active", &Weights::active, "Entries that are not 0.")
      .def_prop_ro("bytes", &Weights::bytes, "Memory held.")
      .def("get", &Weights::get, "id"_a)
      .def(
          "has", [](const Weights& w, FeatureId id) { return w.has(check_id(id)); }, "id"_a)
      .def(
          "set", [](Weights& w, FeatureId id, float value) { w.set(check_id(id), value); }, "id"_a,
          "value"_a)
      .def(
          "gather",
          [](const Weights& w, InArray<FeatureId> ids) {
            std::vector<double> values(ids.size());
            for (size_t i = 0; i < ids.size(); ++i) values[i] = w.get(check_id(ids.data()[i]));
            return own_array(std::move(values));
          },
          "ids"_a.noconvert(), "The weights of many features, 0 of absent ones.")
      .def("reserve", &Weights::reserve, "entries"_a)
      .def("dot", nb::overload_cast<const SparseVector&>(&Weights::dot, nb::const_), "vector"_a)
      .def("add_scaled", nb::overload_cast<const SparseVector&, double>(&Weights::add_scaled),
           "vector"_a, "factor"_a)
      .def("scale", &Weights::scale, "factor"_a)
      .def("drop_zeros", &Weights::drop_zeros)
      .def("to_vector", &Weights::to_vector)
      .def("top", &Weights::top, "k"_a)
      .def_prop_ro("norm1", &Weights::norm1)
      .def_prop_ro("norm2", &Weights::norm2);

  m.def(
      "save_weights",
      [](const FilePath& path, const Weights& weights, const FeatureNames* names) {
        const nb::gil_scoped_release release;
        save_weights(path.name, weights.to_vector(), names);
      },
      "path"_a, "weights"_a, "names"_a.none());
  m.def(
      "load_weights",
      [](const FilePath& path, Weights& weights, FeatureNames* names, bool verify) {
        const nb::gil_scoped_release release;
        load_weights(path.name, weights, names, verify ? Verify::full : Verify::quick);
      },
      "path"_a, "weights"_a, "names"_a.none(), "verify"_a);
  m.def(
      "write_weights_text",
      [](nb::object file, const Weights& weights, const FeatureNames* names) {
        PythonSink sink(std::move(file));
        const nb::gil_scoped_release release;
        write_weights_text(sink, weights.to_vector(), names);
      },
      "file"_a, "weights"_a, "names"_a.none());
  m.def(
      "read_weights_text",
      [](nb::object file, const std::string& name, Weights& weights, FeatureNames* names) {
        PythonSource source(std::move(file), name);
        const nb::gil_scoped_release release;
        read_weights_text(source, weights, names);
      },
      "file"_a, "name"_a, "weights"_a, "names"_a.none());
}

}  // namespace hopefear::bind
