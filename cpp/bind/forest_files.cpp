// Pools of forests and n-best lists.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>

#include "bind/forest_arrays.hpp"
#include "forest/nbest.hpp"
#include "forest/nbest_json.hpp"
#include "forest/pool.hpp"

namespace hopefear::bind {
namespace {

// Pool::get needs the shared pointer that the forests will hold.
struct PoolHandle {
  std::shared_ptr<const Pool> pool;
};

// Owns the source that the reader reads from.
template <typename Reader>
struct Stream {
  Stream(nb::object file, std::string name, std::shared_ptr<Vocabulary> vocabulary,
         std::shared_ptr<FeatureNames> names)
      : source(std::move(file), std::move(name)),
        reader(source, std::move(vocabulary), std::move(names)) {}
  PythonSource source;
  Reader reader;
};

using NbestStream = Stream<NbestReader>;
using JsonNbestStream = Stream<JsonNbestReader>;

nb::list to_arrays(std::vector<std::vector<double>>&& columns) {
  nb::list arrays;
  for (std::vector<double>& column : columns) arrays.append(own_array(std::move(column)));
  return arrays;
}

}  // namespace

void bind_forest_files(nb::module_& m) {
  nb::class_<PoolWriter>(m, "PoolWriter", "Writes forests to a pool file.")
      .def(
          "__init__",
          [](PoolWriter* self, const FilePath& path) { new (self) PoolWriter(path.name); },
          "path"_a)
      .def(
          "add",
          [](PoolWriter& writer, const Forest& forest) {
            writer.add_names(forest);  // with the GIL, as threads that decode intern theirs
            const nb::gil_scoped_release release;
            writer.add(forest);
          },
          "forest"_a, "Append a forest.")
      .def("__len__", &PoolWriter::size)
      .def("finish", &PoolWriter::finish, nb::call_guard<nb::gil_scoped_release>());

  nb::class_<PoolHandle>(m, "PoolFile", "A memory-mapped file of forests.")
      .def(
          "__init__",
          [](PoolHandle* self, const FilePath& path) {
            const nb::gil_scoped_release release;
            new (self) PoolHandle{Pool::open(path.name)};
          },
          "path"_a)
      .def("__len__", [](const PoolHandle& p) { return p.pool->size(); })
      .def_prop_ro("bytes", [](const PoolHandle& p) { return p.pool->bytes(); })
      .def_prop_ro("vocabulary", [](const PoolHandle& p) { return p.pool->vocabulary(); })
      .def_prop_ro("names", [](const PoolHandle& p) { return p.pool->names(); })
      .def(
          "get",
          [](const PoolHandle& p, size_t index) {
            const nb::gil_scoped_release release;
            return Pool::get(p.pool, index);
          },
          "index"_a, "Return a forest, as views into the file.");

  nb::class_<NbestStream>(m, "NbestStream",
                          "Reads n-best lists from a binary file, one list at a time.")
      .def(nb::init<nb::object, std::string, std::shared_ptr<Vocabulary>,
                    std::shared_ptr<FeatureNames>>(),
           "file"_a, "name"_a, "vocabulary"_a, "names"_a)
      .def(
          "next",
          [](NbestStream& stream) -> nb::object {
            NbestList list;
            bool found = false;
            {
              const nb::gil_scoped_release release;
              found = stream.reader.next(list);
            }
            if (!found) return nb::none();
            return nb::make_tuple(list.forest, own_array(std::move(list.scores)));
          },
          nb::sig("def next(self) -> tuple[Forest, numpy.typing.NDArray[numpy.float64]] | None"),
          "Return the next list as a forest, with the scores of its entries; None at the end.");

  nb::class_<JsonNbestStream>(m, "JsonNbestStream",
                              "Reads n-best lists from JSON lines, one list at a time.")
      .def(nb::init<nb::object, std::string, std::shared_ptr<Vocabulary>,
                    std::shared_ptr<FeatureNames>>(),
           "file"_a, "name"_a, "vocabulary"_a, "names"_a)
      .def_prop_ro("place", [](const JsonNbestStream& s) { return s.reader.place(); })
      .def_prop_ro(
          "wrong_line", [](const JsonNbestStream& s) { return to_python(s.reader.wrong_line()); },
          "The line that ended the lists, or nothing.")
      .def(
          "next",
          [](JsonNbestStream& stream) -> nb::object {
            JsonNbestList list;
            bool found = false;
            {
              const nb::gil_scoped_release release;
              found = stream.reader.next(list);
            }
            if (!found) return nb::none();
            nb::list names;
            for (const std::string& name : list.names) names.append(to_python(name));
            return nb::make_tuple(list.forest, own_array(std::move(list.scores)), names,
                                  to_arrays(std::move(list.named)),
                                  to_arrays(std::move(list.utilities)));
          },
          nb::sig("def next(self) -> tuple[Forest, numpy.typing.NDArray[numpy.float64], list[str], "
                  "list[numpy.typing.NDArray[numpy.float64]], "
                  "list[numpy.typing.NDArray[numpy.float64]]] | None"),
          "Return the next list as a forest, the scores of its entries, the names and columns of "
          "further scores, and the utilities of each entry; None at the end or at a wrong line.");
}

}  // namespace hopefear::bind
