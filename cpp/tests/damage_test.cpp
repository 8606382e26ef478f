// Files that are damaged, or become shorter while they are mapped; names that are not allowed.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "base/binary_file.hpp"
#include "base/feature_name.hpp"
#include "base/io.hpp"
#include "base/weights.hpp"
#include "tests/test.hpp"

namespace hopefear {
namespace {

const BinaryKind kTest{"test", 3, "make it again"};

TEST(a_byte_in_the_middle_of_a_large_file) {
  const test::TemporaryFile file;
  const std::vector<uint64_t> numbers(size_t{5} << 20, 7);  // 40 MB
  {
    BinaryWriter writer(file.path, kTest);
    writer.add("numbers", std::span<const uint64_t>(numbers));
    writer.add("parts", std::span<const uint64_t>(numbers).first(1000));
    writer.finish();
  }
  CHECK_EQUAL(BinaryFile::verify(file.path), "test");
  const auto flip = [&](std::streamoff at) {
    std::fstream stream(file.path, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekp(at);
    stream.put('\1');
  };
  flip(20 << 20);
  CHECK_THROWS(InputError, BinaryFile::open(file.path, kTest));
  CHECK_THROWS(InputError, BinaryFile::verify(file.path));
  // What the caller checks itself is left to it.
  const BinaryFile opened = BinaryFile::open(file.path, kTest, "numbers");
  CHECK_EQUAL(opened.section<uint64_t>("numbers").size(), numbers.size());
  CHECK_THROWS(InputError, BinaryFile::open(file.path, kTest, "parts"));
}

// Runs f in another process; returns its exit code, or minus the signal that ended it, and what it
// wrote to stderr.
template <typename F>
std::pair<int, std::string> in_child(F&& f) {
  int ends[2];
  CHECK_EQUAL(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::dup2(ends[1], STDERR_FILENO);
    f();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string written;
  char buffer[1000];
  for (ssize_t n; (n = ::read(ends[0], buffer, sizeof(buffer))) > 0;) {
    written.append(buffer, static_cast<size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), written};
}

TEST(a_file_that_becomes_shorter_while_it_is_mapped) {
  const test::TemporaryFile file, other;
  std::ofstream(file.path) << std::string(100'000, 'x');
  std::ofstream(other.path) << std::string(100'000, 'x');
  const auto [code, message] = in_child([&] {
    const MappedFile released(other.path);
    MappedFile first(file.path);
    const MappedFile mapped = std::move(first);
    if (::truncate(file.path.c_str(), 10) != 0) ::_exit(9);
    volatile char byte = mapped.data()[90'000];
    (void)byte;
  });
  CHECK_EQUAL(code, 2);
  CHECK(message.starts_with("hopefear: " + file.path + ": "));
  CHECK(message.ends_with("\n"));
}

TEST(a_bus_error_elsewhere_is_left_to_others) {
  const test::TemporaryFile file;
  std::ofstream(file.path) << std::string(100'000, 'x');
  const auto fault = [&] {
    {
      const MappedFile released(file.path);
    }  // installs the handler; its range is no longer ours
    const int fd = ::open(file.path.c_str(), O_RDONLY);
    const void* at = ::mmap(nullptr, 100'000, PROT_READ, MAP_SHARED, fd, 0);
    if (::truncate(file.path.c_str(), 10) != 0) ::_exit(9);
    volatile char byte = static_cast<const char*>(at)[90'000];
    (void)byte;
  };
  CHECK(in_child(fault).second.find("hopefear: ") == std::string::npos);
  CHECK(in_child([] { ::raise(SIGBUS); }).first != 2);
}

TEST(names_of_features) {
  for (const char* good :
       {"lm", "p(e|f)", "caf\xc3\xa9", "a name of more than eight bytes", "\xe7\x8c\xab"}) {
    CHECK(is_feature_name(good));
    CHECK_EQUAL(as_feature_name(good), good);
  }
  for (const std::string& bad :
       {std::string(), std::string("a\tb"), std::string("a\nb"), std::string("a\0b", 3),
        std::string("caf\xe9"), std::string("eight by\x7ftes"), std::string("x\x1b[31m"),
        std::string("next\xc2\x85line"), std::string("\xed\xa0\x80")}) {
    CHECK(!is_feature_name(bad));
    FeatureNames names;
    CHECK_THROWS(InputError, names.intern(bad));
    CHECK_EQUAL(names.size(), 0u);
    CHECK(bad.empty() || is_feature_name(as_feature_name(bad)));
  }
  CHECK_EQUAL(as_feature_name("a\tb\xc2\x85 and more words\x01"), "a?b?? and more words?");
  CHECK_EQUAL(shown("a\tb\n\x1b\xff\xc3\xa9"), "'a\\tb\\n\\x1b\\xff\xc3\xa9'");
}

}  // namespace
}  // namespace hopefear
