// The binding layer: all of nanobind is in this folder, none of it in the engine.
//
// Rules: a long call releases the GIL; array arguments never convert (a wrong dtype is a TypeError:
// write .noconvert() on every ndarray argument); text comes in as file objects that Python opened.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <functional>
#include <string>

#include "base/io.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hopefear::bind {

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

// What an engine call reports while it runs: a Python callable taking the work done so far, or
// None. The result may be called without the GIL.
std::function<void(uint64_t)> progress_callback(nb::object callable);

void bind_base(nb::module_& m);
void bind_lm(nb::module_& m);
void bind_metrics(nb::module_& m);
void bind_rules(nb::module_& m);
void bind_weights(nb::module_& m);
void bind_lm_estimate(nb::module_& m);
void bind_align(nb::module_& m);

}  // namespace hopefear::bind
