// The binding layer: all of nanobind is in this folder, none of it in the engine.
//
// Rules: long calls release the GIL; array arguments are never converted (a wrong dtype is a
// TypeError: write .noconvert() for every ndarray argument); text is read from file objects that
// Python opened.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/io.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hopefear::bind {

// The name of a file that the engine opens itself. Unlike std::string it accepts any file name,
// including one that is not UTF-8.
struct FilePath {
  std::string name;
};

// Reads from a Python object with readinto(); may be used while the GIL is released.
class PythonSource : public ByteSource {
 public:
  PythonSource(nb::object file, std::string name);
  ~PythonSource() override;
  size_t read(char* buffer, size_t size) override;

 private:
  nb::object readinto_;
};

// Writes to a Python object with write(bytes-like); may be used while the GIL is released.
class PythonSink : public ByteSink {
 public:
  explicit PythonSink(nb::object file);
  ~PythonSink() override;
  void write(std::string_view bytes) override;

 private:
  nb::object write_;
};

// A sink for a file object, or null for None.
std::unique_ptr<PythonSink> optional_sink(nb::object file);

// The progress report of an engine call: takes a Python callable, to be called with the amount of
// work done, or None. The result may be called without the GIL.
std::function<void(uint64_t)> progress_callback(nb::object callable);

// The UTF-8 text of a str or bytes; `held` keeps converted text alive. Surrogate escapes become the
// original bytes.
std::string_view text_of(nb::handle object, nb::object& held);
std::vector<std::string> strings_of(nb::handle texts);
// The tags of a sentence: none, or one per word.
std::vector<std::string> tags_of(nb::handle tags, size_t words);

void bind_base(nb::module_& m);
void bind_lm(nb::module_& m);
void bind_metrics(nb::module_& m);
void bind_extract(nb::module_& m);
void bind_rules(nb::module_& m);
void bind_weights(nb::module_& m);
void bind_lm_estimate(nb::module_& m);
void bind_align(nb::module_& m);
void bind_forest(nb::module_& m);
void bind_inference(nb::module_& m);
void bind_forest_files(nb::module_& m);
void bind_expand(nb::module_& m);
void bind_string_sums(nb::module_& m);
void bind_features(nb::module_& m);
void bind_phrase(nb::module_& m);
void bind_tune(nb::module_& m);
void bind_bins(nb::module_& m);
void bind_chart(nb::module_& m);
void bind_violations(nb::module_& m);
void bind_clusters(nb::module_& m);
void bind_syntax(nb::module_& m);
void bind_parser(nb::module_& m);

}  // namespace hopefear::bind

template <>
struct nanobind::detail::type_caster<hopefear::bind::FilePath> {
  NB_TYPE_CASTER(hopefear::bind::FilePath, const_name("str"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    PyObject* bytes = nullptr;
    if (PyUnicode_FSConverter(source.ptr(), &bytes) == 0) {
      PyErr_Clear();
      return false;
    }
    value.name.assign(PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)));
    Py_DECREF(bytes);
    return true;
  }
};
