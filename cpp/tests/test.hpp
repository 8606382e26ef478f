// The engine's own tests: TEST(name) { CHECK(...); }. One executable runs them all; 'make asan'
// runs it under the sanitizers. What Python can reach is tested from Python.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace hopefear::test {

struct Case {
  const char* name;
  std::function<void()> run;
};

std::vector<Case>& cases();

struct Register {
  Register(const char* name, std::function<void()> run) {
    cases().push_back({name, std::move(run)});
  }
};

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  std::ostringstream text;
  text << file << ":" << line << ": " << what;
  throw std::runtime_error(text.str());
}

// An empty file that vanishes with the object.
struct TemporaryFile {
  TemporaryFile() {
    const int fd = ::mkstemp(path.data());
    if (fd >= 0) std::fclose(::fdopen(fd, "w"));
  }
  ~TemporaryFile() { std::remove(path.c_str()); }
  std::string path = "/tmp/hopefear-test-XXXXXX";
};

}  // namespace hopefear::test

#define TEST(name)                                                           \
  static void test_##name();                                                 \
  static const hopefear::test::Register register_##name(#name, test_##name); \
  static void test_##name()

#define CHECK(condition) \
  if (!(condition)) hopefear::test::fail(__FILE__, __LINE__, "not true: " #condition)

#define CHECK_EQUAL(a, b)                                            \
  do {                                                               \
    const auto& check_a = (a);                                       \
    const auto& check_b = (b);                                       \
    if (!(check_a == check_b)) {                                     \
      std::ostringstream check_text;                                 \
      check_text << #a " = " << check_a << ", " #b " = " << check_b; \
      hopefear::test::fail(__FILE__, __LINE__, check_text.str());    \
    }                                                                \
  } while (false)

#define CHECK_NEAR(a, b, tolerance) CHECK(std::abs((a) - (b)) <= (tolerance))

#define CHECK_THROWS(type, expression)                                                           \
  do {                                                                                           \
    bool thrown = false;                                                                         \
    try {                                                                                        \
      (void)(expression);                                                                        \
    } catch (const type&) {                                                                      \
      thrown = true;                                                                             \
    }                                                                                            \
    if (!thrown) hopefear::test::fail(__FILE__, __LINE__, #expression " does not throw " #type); \
  } while (false)
