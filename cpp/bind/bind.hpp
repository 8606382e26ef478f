// The binding layer: all of nanobind is in this folder, none of it in the engine.
//
// Rules: a long call releases the GIL; array arguments never convert (a wrong dtype is a TypeError:
// write .noconvert() on every ndarray argument); text comes in as file objects that Python opened.
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

// The name of a file that the engine opens itself. Unlike std::string it takes any name that the
// system has, also one that is no UTF-8.
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

// What an engine call reports while it runs: a Python callable taking the work done so far, or
// None. The result may be called without the GIL.
std::function<void(uint64_t)> progress_callback(nb::object callable);

// The UTF-8 of a str or bytes; `held` keeps what had to be converted. Bytes that were no UTF-8 and
// came in by surrogateescape go back to what they were.
std::string_view text_of(nb::handle object, nb::object& held);
std::vector<std::string> strings_of(nb::handle texts);
// Those of a sentence's tokens: none, or one for each of its words.
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
void bind_features(nb::module_& m);
void bind_phrase(nb::module_& m);
void bind_tune(nb::module_& m);
void bind_bins(nb::module_& m);
void bind_chart(nb::module_& m);
void bind_violations(nb::module_& m);
void bind_clusters(nb::module_& m);

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
