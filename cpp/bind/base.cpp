// Errors, interrupts and streams between the engine and Python.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "base/binary_file.hpp"
#include "base/error.hpp"
#include "base/feature_name.hpp"
#include "base/hash.hpp"
#include "base/interrupt.hpp"
#include "bind/bind.hpp"

namespace hopefear::bind {
namespace {

bool interrupted() {
  const nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

// The Python object of a sign. Threads hold the sign itself, since their reference may be dropped
// at the end of a thread, when the GIL cannot be acquired.
struct SharedSign {
  std::shared_ptr<StopSign> sign = std::make_shared<StopSign>();
};

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const InputError& e) {
    // A message may quote a file's bytes, whatever they are.
    const nb::object type = nb::module_::import_("hopefear.base.errors").attr("InputError");
    const std::string_view what = e.what();
    const nb::object text = nb::steal(
        PyUnicode_DecodeUTF8(what.data(), static_cast<Py_ssize_t>(what.size()), "replace"));
    if (text.is_valid()) PyErr_SetObject(type.ptr(), text.ptr());
  } catch (const FileError& e) {
    const nb::object path = nb::steal(PyUnicode_DecodeFSDefault(e.path.c_str()));
    const nb::object error = nb::steal(
        PyObject_CallFunction(PyExc_OSError, "isO", e.number, std::strerror(e.number), path.ptr()));
    if (error.is_valid()) PyErr_SetObject(nb::handle(error.type()).ptr(), error.ptr());
  } catch (const std::length_error&) {  // a container cannot be that large
    PyErr_NoMemory();
  } catch (const std::system_error& e) {
    // A thread, lock or file that the system refuses for lack of memory or of other resources.
    errno = e.code().value();
    PyErr_SetFromErrno(PyExc_OSError);
  } catch (const Interrupted&) {
    if (PyErr_Occurred() == nullptr) PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
}

}  // namespace

std::string_view text_of(nb::handle object, nb::object& held) {
  PyObject* const p = object.ptr();
  if (PyUnicode_Check(p)) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(p, &size);
    if (data != nullptr) return {data, static_cast<size_t>(size)};
    for (const char* errors : {"surrogateescape", "surrogatepass"}) {
      PyErr_Clear();
      held = nb::steal(PyUnicode_AsEncodedString(p, "utf-8", errors));
      if (held.is_valid()) return text_of(held, held);
    }
    throw nb::python_error();
  }
  if (PyBytes_Check(p)) {
    return {PyBytes_AS_STRING(p), static_cast<size_t>(PyBytes_GET_SIZE(p))};
  }
  throw nb::type_error("expected str or bytes");
}

std::vector<std::string> strings_of(nb::handle texts) {
  std::vector<std::string> result;
  for (const nb::handle text : texts) {
    nb::object held;
    result.emplace_back(text_of(text, held));
  }
  return result;
}

std::vector<std::string> tags_of(nb::handle tags, size_t words) {
  std::vector<std::string> result = strings_of(tags);
  if (!result.empty() && result.size() != words) {
    throw nb::value_error("expected one tag per word, or no tags");
  }
  return result;
}

PythonSource::PythonSource(nb::object file, std::string name)
    : ByteSource(std::move(name)), readinto_(file.attr("readinto")) {}

PythonSource::~PythonSource() {
  const nb::gil_scoped_acquire gil;
  readinto_.reset();
}

size_t PythonSource::read(char* buffer, size_t size) {
  const nb::gil_scoped_acquire gil;
  // A signal that arrived during engine work does not interrupt a read that starts afterwards.
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  const nb::object view =
      nb::steal(PyMemoryView_FromMemory(buffer, static_cast<Py_ssize_t>(size), PyBUF_WRITE));
  const nb::object count = readinto_(view);
  if (count.is_none()) throw FileError(EAGAIN, name());
  return nb::cast<size_t>(count);
}

PythonSink::PythonSink(nb::object file) : write_(file.attr("write")) {}

PythonSink::~PythonSink() {
  const nb::gil_scoped_acquire gil;
  write_.reset();
}

void PythonSink::write(std::string_view bytes) {
  const nb::gil_scoped_acquire gil;
  while (!bytes.empty()) {
    const nb::object view = nb::steal(PyMemoryView_FromMemory(
        const_cast<char*>(bytes.data()), static_cast<Py_ssize_t>(bytes.size()), PyBUF_READ));
    const nb::object count = write_(view);
    // Raw files may write fewer bytes than requested, buffered and compressed ones never do.
    bytes.remove_prefix(count.is_none() ? bytes.size()
                                        : std::min(bytes.size(), nb::cast<size_t>(count)));
  }
}

std::unique_ptr<PythonSink> optional_sink(nb::object file) {
  return file.is_none() ? nullptr : std::make_unique<PythonSink>(std::move(file));
}

std::function<void(uint64_t)> progress_callback(nb::object callable) {
  if (callable.is_none()) return [](uint64_t) {};
  // The copies of a std::function share one reference, released under the GIL.
  const auto release = [](nb::object* object) {
    const nb::gil_scoped_acquire gil;
    delete object;
  };
  const std::shared_ptr<nb::object> held(new nb::object(std::move(callable)), release);
  return [held](uint64_t done) {
    const nb::gil_scoped_acquire gil;
    (*held)(done);
  };
}

void bind_base(nb::module_& m) {
  nb::register_exception_translator(translate);
  set_interrupt_hook(interrupted);
  nb::class_<SharedSign>(m, "StopSign", "A flag that stops engine calls on other threads.")
      .def(nb::init<>())
      .def(
          "set", [](SharedSign& self) { self.sign->set(); },
          "Stop the engine calls of threads that observe this flag: they raise KeyboardInterrupt.")
      .def(
          "heed", [](SharedSign& self) { heed(self.sign); },
          "Make engine calls of the calling thread observe this flag.");
  m.def("poll_interrupt", &poll_interrupt,
        "Raise KeyboardInterrupt if the thread's StopSign is set, or on Ctrl-C; for long waits in "
        "Python.");
  m.def("set_leak_warnings", &nb::set_leak_warnings, "enabled"_a,
        "Whether objects of the engine that are alive when the interpreter ends are reported.");
  m.def(
      "build_info",
      [] {
        std::string info = "compiler " __VERSION__;
#ifdef NDEBUG
        info += ", optimised";
#endif
        return info;
      },
      "Return the compiler and build type of the engine.");
  m.def(
      "verify_file",
      [](const FilePath& path) {
        const nb::gil_scoped_release released;
        return BinaryFile::verify(path.name);
      },
      "path"_a,
      "Compare a binary file with its checksums and return its kind, such as lm or rules.");
  m.def(
      "check_feature_name",
      [](nb::handle name) {
        nb::object held;
        check_feature_name(text_of(name, held));
      },
      "name"_a, "Raise InputError for a name that no feature can have.");
  m.def(
      "hash64", [](nb::bytes text) { return hash64({text.c_str(), text.size()}); }, "text"_a,
      "Return the 64-bit hash of a text (UTF-8); that of a feature's name is its id.");
}

}  // namespace hopefear::bind
