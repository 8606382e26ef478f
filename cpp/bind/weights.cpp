#include "base/weights.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <map>
#include <set>

#include "base/column_sums.hpp"
#include "bind/forest_arrays.hpp"

namespace hopefear::bind {
namespace {

using InMatrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

FeatureId check_id(FeatureId id) {
  if (id == 0) throw nb::value_error("0 is not a valid feature id");
  return id;
}

SparseVector make_vector(InArray<FeatureId> ids, InArray<float> values) {
  if (ids.size() != values.size()) throw nb::value_error("expected as many values as ids");
  for (size_t i = 0; i < ids.size(); ++i) check_id(ids.data()[i]);
  return SparseVector(span_of(ids), span_of(values));
}

// Counts non-zero weights: those of features in `dense` together, others by the part of the name
// before the first colon.
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
          "name"_a, "Store a feature name and return its id.")
      .def(
          "name",
          [](const FeatureNames& names, FeatureId id) -> nb::object {
            const std::string_view name = names.name(id);
            if (name.empty()) return nb::none();
            return to_python(name);
          },
          "id"_a, nb::sig("def name(self, id: int) -> str | None"),
          "Return the name of a feature id, None if unknown.")
      .def("add", &FeatureNames::add, "others"_a, "Store all names of another FeatureNames.")
      .def(
          "lines",
          [](const FeatureNames& names, InArray<FeatureId> ids) {
            std::string lines;
            for (const FeatureId id : span_of(ids)) {
              if (const std::string_view name = names.name(id); !name.empty()) {
                lines.append(name) += '\n';
              }
            }
            return nb::bytes(lines.data(), lines.size());
          },
          "ids"_a.noconvert(), "Return the known names of features, each followed by a line end.")
      .def(
          "add_lines",
          [](FeatureNames& names, const nb::bytes& lines) {
            std::string_view rest(lines.c_str(), lines.size());
            while (!rest.empty()) {
              const size_t end = rest.find('\n');
              names.intern(rest.substr(0, end));
              rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
            }
          },
          "lines"_a, "Store the names that `lines` returned.")
      .def("__len__", &FeatureNames::size)
      .def_prop_ro("bytes", &FeatureNames::bytes, "Memory use in bytes.");

  nb::class_<SparseVector>(
      m, "SparseVector",
      "A sparse feature vector: sorted 64-bit feature ids and float32 values. Immutable.")
      .def(nb::init<>())
      .def(
          "__init__",
          [](SparseVector* self, InArray<FeatureId> ids, InArray<float> values) {
            new (self) SparseVector(make_vector(ids, values));
          },
          "ids"_a.noconvert(), "values"_a.noconvert(),
          "Take uint64 ids in any order and float32 values; values of equal ids are summed.")
      .def("__len__", &SparseVector::size)
      .def("get", &SparseVector::get, "id"_a, "Return the value of a feature, 0 if absent.")
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
      .def("dot", &SparseVector::dot, "other"_a, "Return the inner product with another vector.")
      .def("plus", &SparseVector::plus, "other"_a, "factor"_a = 1.0,
           "Return self + factor * other.")
      .def(
          "scaled",
          [](SparseVector v, double factor) {
            v.scale(factor);
            return v;
          },
          "factor"_a, "Return factor * self.")
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
      .def_prop_ro("norm1", &SparseVector::norm1, "Sum of the absolute values.")
      .def_prop_ro("norm2", &SparseVector::norm2, "Euclidean norm.")
      .def_prop_ro("max_norm", &SparseVector::max_norm, "Largest absolute value.");

  m.def(
      "weighted_sum",
      [](const std::vector<const SparseVector*>& vectors, const std::vector<double>& factors) {
        if (vectors.size() != factors.size())
          throw nb::value_error("expected as many factors as vectors");
        const nb::gil_scoped_release release;
        return weighted_sum(vectors, factors);
      },
      "vectors"_a, "factors"_a, "Return the sum of factor * vector.");

  nb::class_<ColumnSums>(m, "ColumnSums", "Sums of rows by feature id, in double precision.")
      .def(nb::init<size_t>(), "columns"_a)
      .def("__len__", &ColumnSums::size)
      .def(
          "add",
          [](ColumnSums& sums, InArray<FeatureId> ids, InMatrix rows) {
            if (rows.shape(0) != ids.size() || rows.shape(1) != sums.columns()) {
              throw nb::value_error("expected a row of values for each id");
            }
            for (const FeatureId id : span_of(ids)) check_id(id);
            const nb::gil_scoped_release release;
            sums.add(span_of(ids), {rows.data(), rows.size()});
          },
          "ids"_a.noconvert(), "rows"_a.noconvert(), "Add a row (float64) to the sums of each id.")
      .def(
          "sorted",
          [](const ColumnSums& sums) {
            std::vector<FeatureId> ids;
            std::vector<double> rows;
            {
              const nb::gil_scoped_release release;
              sums.sorted(ids, rows);
            }
            return std::pair(own_array(std::move(ids)), own_array(std::move(rows)));
          },
          nb::sig("def sorted(self) -> tuple[numpy.typing.NDArray[numpy.uint64], "
                  "numpy.typing.NDArray[numpy.float64]]"),
          "Return the ids, ascending, and their rows, one after the other.");

  m.def("count_by_template", &count_by_template, "table"_a, "names"_a, "dense"_a,
        nb::call_guard<nb::gil_scoped_release>(),
        "Count non-zero weights by template: `dense` for the given features, else the part of the "
        "name before the first colon (`id` without a name).");

  nb::class_<Weights>(m, "WeightTable", "A hash table of weights by feature id.")
      .def(nb::init<>())
      .def(nb::init<const SparseVector&>(), "vector"_a)
      .def(
          "copy", [](const Weights& w) { return w; }, "Return a copy.")
      .def("__len__", &Weights::size)
      .def_prop_ro("active", &Weights::active, "Number of non-zero entries.")
      .def_prop_ro("bytes", &Weights::bytes, "Memory use in bytes.")
      .def("get", &Weights::get, "id"_a, "Return the weight of a feature, 0 if absent.")
      .def(
          "has", [](const Weights& w, FeatureId id) { return w.has(check_id(id)); }, "id"_a,
          "Return whether a feature has an entry, possibly 0.")
      .def(
          "set", [](Weights& w, FeatureId id, float value) { w.set(check_id(id), value); }, "id"_a,
          "value"_a, "Set the weight of a feature.")
      .def(
          "gather",
          [](const Weights& w, InArray<FeatureId> ids) {
            std::vector<double> values(ids.size());
            for (size_t i = 0; i < ids.size(); ++i) values[i] = w.get(check_id(ids.data()[i]));
            return own_array(std::move(values));
          },
          "ids"_a.noconvert(), "Return the weights of features as float64, 0 for absent ones.")
      .def("reserve", &Weights::reserve, "entries"_a, "Allocate memory for a number of entries.")
      .def("dot", nb::overload_cast<const SparseVector&>(&Weights::dot, nb::const_), "vector"_a,
           "Return the inner product with a vector.")
      .def("add_scaled", nb::overload_cast<const SparseVector&, double>(&Weights::add_scaled),
           "vector"_a, "factor"_a, "Add factor * vector in place.")
      .def("scale", &Weights::scale, "factor"_a, "Multiply all weights by a factor in place.")
      .def("drop_zeros", &Weights::drop_zeros, "Remove the entries that are 0.")
      .def("to_vector", &Weights::to_vector, "Return the entries as a SparseVector.")
      .def("top", &Weights::top, "k"_a,
           "Return the k (id, weight) of largest absolute weight, largest first.")
      .def_prop_ro("norm1", &Weights::norm1, "Sum of the absolute weights.")
      .def_prop_ro("norm2", &Weights::norm2, "Euclidean norm.");

  m.def(
      "save_weights",
      [](const FilePath& path, const Weights& weights, const FeatureNames* names) {
        const nb::gil_scoped_release release;
        save_weights(path.name, weights.to_vector(), names);
      },
      "path"_a, "weights"_a, "names"_a.none(),
      "Write weights, and feature names if given, to a binary file.");
  m.def(
      "load_weights",
      [](const FilePath& path, Weights& weights, FeatureNames* names) {
        const nb::gil_scoped_release release;
        load_weights(path.name, weights, names);
      },
      "path"_a, "weights"_a, "names"_a.none(),
      "Add the entries of a binary file to `weights` and `names`.");
  m.def(
      "write_weights_text",
      [](nb::object file, const Weights& weights, const FeatureNames* names) {
        PythonSink sink(std::move(file));
        const nb::gil_scoped_release release;
        write_weights_text(sink, weights.to_vector(), names);
      },
      "file"_a, "weights"_a, "names"_a.none(),
      "Write weights as text lines `name<TAB>value`, sorted by name.");
  m.def(
      "read_weights_text",
      [](nb::object file, const std::string& name, Weights& weights, FeatureNames* names) {
        PythonSource source(std::move(file), name);
        const nb::gil_scoped_release release;
        read_weights_text(source, weights, names);
      },
      "file"_a, "name"_a, "weights"_a, "names"_a.none(),
      "Add the entries of a weights text file to `weights` and `names`; `name` is for messages.");
}

}  // namespace hopefear::bind
