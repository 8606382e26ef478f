#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <thread>

#include "base/binary_file.hpp"
#include "base/external_sorter.hpp"
#include "base/io.hpp"
#include "base/prefix_hash.hpp"
#include "base/threads.hpp"
#include "base/weights.hpp"
#include "tests/test.hpp"

namespace hopefear {
namespace {

std::vector<std::string> lines_of(std::string_view text) {
  MemorySource source("text", text);
  LineReader reader(source);
  std::vector<std::string> lines;
  std::string_view line;
  while (reader.next(line)) lines.emplace_back(line);
  return lines;
}

TEST(lines) {
  CHECK_EQUAL(lines_of("").size(), 0u);
  CHECK_EQUAL(lines_of({}).size(), 0u);
  CHECK((lines_of("a\n\nb") == std::vector<std::string>{"a", "", "b"}));
  CHECK((lines_of("a\nb\n") == std::vector<std::string>{"a", "b"}));
  const std::string longer(3'000'000, 'x');  // longer than the buffer
  CHECK((lines_of("a\n" + longer + "\nb") == std::vector<std::string>{"a", longer, "b"}));
}

TEST(a_hash_after_a_prefix_is_that_of_the_complete_text) {
  std::mt19937 random(1);
  std::string text(40, ' ');
  for (char& c : text) c = static_cast<char>(random());
  for (size_t size = 0; size <= text.size(); ++size) {
    for (size_t prefix = 0; prefix <= size; ++prefix) {
      const PrefixHash hash(text.substr(0, prefix));
      const std::string_view whole = std::string_view(text).substr(0, size);
      CHECK_EQUAL(hash.hash(whole.substr(prefix)), hash64(whole));
    }
  }
}

TEST(checksum_does_not_depend_on_the_pieces) {
  std::string text(1000, ' ');
  std::mt19937 random(1);
  for (char& c : text) c = static_cast<char>(random());
  Checksum whole, pieces;
  whole.update(text.data(), text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t n = std::min<size_t>(random() % 70, text.size() - at);
    pieces.update(text.data() + at, n);
    at += n;
  }
  CHECK_EQUAL(whole.digest(), pieces.digest());
  for (const size_t flipped : {size_t{0}, size_t{500}, text.size() - 1}) {
    std::string other = text;
    other[flipped] ^= 1;
    Checksum sum;
    sum.update(other.data(), other.size());
    CHECK(sum.digest() != whole.digest());
  }
  pieces.update(nullptr, 0);
  CHECK_EQUAL(whole.digest(), pieces.digest());
  Checksum shorter, padded;  // trailing zeros count
  shorter.update("a", 1);
  padded.update("a\0", 2);
  CHECK(shorter.digest() != padded.digest());
}

TEST(binary_container_in_memory) {
  const BinaryKind kind{"test", 3, "make it again"};
  const std::vector<uint64_t> numbers = {1, 2, 3};
  BinaryWriter writer(kind);
  writer.add("one", std::span<const char>("a", 1));
  writer.add("numbers", std::span<const uint64_t>(numbers));
  BinaryFile made = BinaryFile::from_memory(writer.finish_in_memory(), "here", kind);
  const auto read = made.section<uint64_t>("numbers");
  const BinaryFile moved = std::move(made);
  CHECK((std::vector<uint64_t>(read.begin(), read.end()) == numbers));
  CHECK(moved.section<uint64_t>("numbers").data() == read.data());
  CHECK(!moved.has("two"));
  CHECK_THROWS(InputError, moved.section<uint64_t>("two"));
  CHECK_EQUAL(moved.path(), std::string("here"));
}

TEST(binary_file_refuses_every_flipped_byte_and_every_truncation) {
  const BinaryKind kind{"test", 3, "make it again"};
  const test::TemporaryFile file;
  const std::vector<uint32_t> numbers = {1, 2, 3};
  {
    BinaryWriter writer(file.path, kind);
    writer.add("numbers", std::span<const uint32_t>(numbers));
    writer.add("empty", std::span<const uint32_t>());
    writer.finish();
  }
  const BinaryFile good = BinaryFile::open(file.path, kind);
  const auto read = good.section<uint32_t>("numbers");
  CHECK((std::vector<uint32_t>(read.begin(), read.end()) == numbers));
  CHECK_EQUAL(good.section<uint32_t>("empty").size(), 0u);
  CHECK(!good.has("nothing"));
  CHECK_THROWS(InputError, good.section<uint32_t>("nothing"));
  CHECK_THROWS(InputError, good.section<uint64_t>("numbers"));
  CHECK_THROWS(InputError, BinaryFile::open(file.path, BinaryKind{"other", 3, ""}));
  CHECK_THROWS(InputError, BinaryFile::open(file.path, BinaryKind{"test", 4, ""}));

  std::ifstream in(file.path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const auto write = [&](const std::string& content) {
    std::ofstream(file.path, std::ios::binary | std::ios::trunc) << content;
  };
  size_t unchecked = 0;  // padding between sections may change, nothing else
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] ^= 0x40;
    write(changed);
    try {
      BinaryFile::open(file.path, kind);
      ++unchecked;
    } catch (const InputError&) {
    }
  }
  CHECK(unchecked <= 64);
  for (size_t size = 0; size < bytes.size(); size += 7) {
    write(bytes.substr(0, size));
    CHECK_THROWS(InputError, BinaryFile::open(file.path, kind));
  }
  write(bytes + "x");
  CHECK_THROWS(InputError, BinaryFile::open(file.path, kind));
  // Offsets outside the file, with a correct checksum.
  for (const auto& [at, value] : std::vector<std::pair<size_t, uint64_t>>{
           {20, 25}, {80, uint64_t{1} << 40}, {80, 1217}, {88, uint64_t{1} << 40}, {88, ~0ULL}}) {
    std::string forged = bytes;
    std::memcpy(forged.data() + at, &value, at == 20 ? 4 : 8);
    std::memset(forged.data() + 32, 0, 8);
    Checksum sum;
    sum.update(forged.data(), 1216);
    const uint64_t digest = sum.digest();
    std::memcpy(forged.data() + 32, &digest, 8);
    write(forged);
    CHECK_THROWS(InputError, BinaryFile::open(file.path, kind));
  }
  CHECK_THROWS(FileError, BinaryFile::open("/nonexistent/file", kind));
  CHECK_THROWS(FileError, BinaryFile::open("/tmp", kind));
}

TEST(scratch_file) {
  ScratchFile scratch("/tmp");
  scratch.append("hello", 5);
  scratch.append(" world", 6);
  char text[5];
  scratch.read_at(6, text, 5);
  CHECK_EQUAL(std::string(text, 5), "world");
  CHECK_THROWS(FileError, scratch.read_at(8, text, 5));
  CHECK_THROWS(FileError, ScratchFile("/nonexistent"));
}

struct Keyed {
  uint32_t first;
  uint32_t count;
  uint64_t key() const { return first; }
  static bool before(const Keyed& a, const Keyed& b) { return a.first < b.first; }
  static bool absorb(const Keyed&) { return false; }
  bool operator==(const Keyed&) const = default;
};

struct Counted : Keyed {
  static bool before(const Counted& a, const Counted& b) { return a.first < b.first; }
  bool absorb(const Counted& other) {
    if (first != other.first) return false;
    count += other.count;
    return true;
  }
};

TEST(key_sorter_equals_sort) {
  std::mt19937 random(3);
  // From one run in memory to more runs than are merged at once.
  for (const size_t size : {0, 1, 4000, 50'000, 300'000}) {
    for (const unsigned bits : {1U, 9U, 32U}) {
      std::vector<Keyed> expected, memory(4100), spare(4100), result;
      Disk disk("");
      KeySorter<Keyed> sorter(memory, spare, bits, 2, disk);
      for (size_t i = 0; i < size; ++i) {
        const uint32_t key = bits == 32 ? random() : random() % (1U << bits);
        expected.push_back({key, key ^ 7});  // equal keys may be in any order
        sorter.push(expected.back());
      }
      std::sort(expected.begin(), expected.end(), Keyed::before);
      sorter.finish();
      while (const Keyed* record = sorter.next()) result.push_back(*record);
      CHECK(result == expected);
      CHECK_EQUAL(disk.spilled() > 0, size > memory.size());
    }
  }
}

TEST(merging_sums_equal_records) {
  std::mt19937 random(4);
  std::map<uint32_t, uint32_t> expected;
  Disk disk("");
  RunMerger<Counted> merger(disk);
  std::vector<Counted> run, space(3000);
  for (int i = 0; i < 20; ++i) {  // more runs than are merged at once
    run.clear();
    for (uint32_t n = random() % 500; n > 0; --n) run.push_back({{uint32_t(random() % 300), n}});
    for (const Counted& record : run) expected[record.first] += record.count;
    std::sort(run.begin(), run.end(), Counted::before);
    merger.begin_run();
    merger.append(run);
  }
  merger.begin_merge(space);
  std::map<uint32_t, uint32_t> sums;
  for (auto batch = merger.next_batch(); !batch.empty(); batch = merger.next_batch()) {
    for (const Counted& record : batch) CHECK(sums.emplace(record.first, record.count).second);
  }
  CHECK(sums == expected);
}

TEST(parallel_for_visits_each_index_once_and_rethrows) {
  for (const size_t threads : {1, 2, 5}) {
    std::vector<int> seen(1000);
    parallel_for(seen.size(), threads, [&](size_t i) { ++seen[i]; });
    CHECK(seen == std::vector<int>(1000, 1));
    CHECK_THROWS(InputError, parallel_for(100, threads, [](size_t i) {
                   if (i == 17) throw InputError("17");
                 }));
  }
}

#ifndef __SANITIZE_ADDRESS__  // ASan needs the address space that this test limits
TEST(parallel_for_works_with_fewer_threads_than_requested) {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  if (pages == 0) return;  // the system lacks this file
  rlimit before, less;
  CHECK_EQUAL(::getrlimit(RLIMIT_AS, &before), 0);
  less = before;
  less.rlim_cur = pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) + (size_t{100} << 20);
  CHECK_EQUAL(::setrlimit(RLIMIT_AS, &less), 0);  // room for a dozen stacks
  std::vector<int> seen(1000);
  parallel_for(seen.size(), seen.size(), [&](size_t i) {
    ++seen[i];
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that they pile up
  });
  CHECK_EQUAL(::setrlimit(RLIMIT_AS, &before), 0);
  CHECK(seen == std::vector<int>(1000, 1));
}
#endif

TEST(no_feature_has_the_id_0) {
  FeatureNames names;
  CHECK_EQUAL(names.name(0), "");
  const FeatureId lm = names.intern("lm");
  CHECK_EQUAL(names.name(lm), "lm");
  CHECK_EQUAL(names.name(0), "");
  CHECK(!names.has(0));
}

TEST(weights_equal_a_map) {
  std::mt19937_64 random(7);
  std::map<FeatureId, float> reference;
  Weights weights;
  for (int i = 0; i < 20000; ++i) {
    // Clustered ids make long probe runs, also at the very end of the table.
    FeatureId id = random() % 4 == 0 ? ~uint64_t{0} - random() % 2000 : random() | 1;
    if (random() % 3 == 0) id = 1 + random() % 3000;
    const float value = static_cast<float>(random() % 100) - 50;
    weights.set(id, value);
    reference[id] = value;
  }
  CHECK_EQUAL(weights.size(), reference.size());
  for (const auto& [id, value] : reference) CHECK_EQUAL(weights.get(id), value);
  CHECK_EQUAL(weights.get(123456789), 0.0f);
  const SparseVector vector = weights.to_vector();
  size_t i = 0;
  for (const auto& [id, value] : reference) {
    CHECK_EQUAL(vector.ids()[i], id);
    CHECK_EQUAL(vector.values()[i], value);
    ++i;
  }
  CHECK_NEAR(weights.dot(vector), vector.dot(vector), 1e-6 * vector.dot(vector));
}

}  // namespace
}  // namespace hopefear
