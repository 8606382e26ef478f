#include <cstdio>
#include <cstring>

#include "tests/test.hpp"

namespace hopefear::test {
std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}
}  // namespace hopefear::test

// With an argument: only the tests whose name contains it.
int main(int argc, char** argv) {
  int passed = 0, failed = 0;
  for (const auto& [name, run] : hopefear::test::cases()) {
    if (argc > 1 && std::strstr(name, argv[1]) == nullptr) continue;
    try {
      run();
      ++passed;
    } catch (const std::exception& e) {
      ++failed;
      std::printf("FAILED %s\n  %s\n", name, e.what());
    }
  }
  std::printf("engine: %d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
