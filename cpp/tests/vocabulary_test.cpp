#include "base/vocabulary.hpp"

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/probing_table.hpp"
#include "features/sink.hpp"
#include "tests/test.hpp"

namespace hopefear {
namespace {

// Appends, because GCC 12 warns about operator+ with a literal on the left.
std::string numbered(const char* text, int number) {
  std::string made = text;
  made += std::to_string(number);
  return made;
}

// Run it under ThreadSanitizer too ('make tsan'): word() takes no lock.
TEST(words_can_be_read_while_others_are_added) {
  auto base = std::make_shared<Vocabulary>();
  for (int i = 0; i < 100; ++i) base->intern(numbered("base", i));
  Vocabulary shared(base);
  constexpr int kWords = 3000;  // several blocks
  std::atomic<int> wrong = 0;
  const auto write = [&](int first) {
    for (int i = 0; i < kWords; ++i) {
      const std::string word = numbered("w", (i * 7 + first) % kWords);
      if (shared.word(shared.intern(word)) != word) ++wrong;
    }
  };
  const auto read = [&] {
    int32_t size = 0;
    while (size < 100 + kWords) {
      size = shared.size();
      for (int32_t id = 0; id < size; id += 1 + size / 50) {
        if (shared.find(shared.word(id)) != id) ++wrong;
      }
    }
  };
  // The base grows too, beyond the part that `shared` sees.
  const auto grow = [&] {
    for (int i = 0; i < kWords; ++i) base->intern(numbered("w", i));
  };
  std::vector<std::thread> threads;
  threads.emplace_back(write, 0);
  threads.emplace_back(write, 1500);
  threads.emplace_back(read);
  threads.emplace_back(grow);
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(wrong.load(), 0);
  CHECK_EQUAL(shared.size(), 100 + kWords);
}

// With any hash, even one that sends all keys to one slot or uses only their low bits.
template <typename Hash, size_t kEighths>
void compare_with_a_map(size_t operations) {
  std::mt19937_64 random(7);
  std::unordered_map<uint64_t, int> reference;
  ProbingMap<int, Hash, kEighths> map;
  for (size_t i = 0; i < operations; ++i) {
    const uint64_t key = random() % 2 == 0 ? 1 + random() % 200 : (1 + random() % 100) << 40;
    if (random() % 3 == 0) {
      const int* const found = map.find(key);
      CHECK_EQUAL(found != nullptr, reference.contains(key));
      if (found != nullptr) CHECK_EQUAL(*found, reference[key]);
    } else {
      const auto [value, is_new] = map.try_emplace(key, static_cast<int>(i));
      CHECK_EQUAL(is_new, reference.emplace(key, static_cast<int>(i)).second);
      CHECK_EQUAL(value, reference[key]);
      value = reference[key] += 1;
    }
    if (random() % 500 == 0) map.reserve(random() % 1000);
    if (random() % 700 == 0) {
      map.clear();
      reference.clear();
    }
    CHECK_EQUAL(map.size(), reference.size());
    CHECK_EQUAL(map.empty(), reference.empty());
  }
  size_t visited = 0;
  map.for_each([&](uint64_t key, int value) {
    CHECK_EQUAL(reference.at(key), value);
    ++visited;
  });
  CHECK_EQUAL(visited, reference.size());
}

struct AllAlike {
  uint64_t operator()(uint64_t) const { return ~uint64_t{0}; }
};

TEST(probing_map_equals_a_map) {
  compare_with_a_map<AsItIs, 4>(20'000);
  compare_with_a_map<Multiplied, 2>(20'000);
  compare_with_a_map<Multiplied, 6>(20'000);
  compare_with_a_map<AllAlike, 7>(5'000);
}

TEST(known_keys_and_reserved_room_do_not_make_a_table_grow) {
  ProbingMap<int> map;
  map.reserve(1000);
  const size_t bytes = map.bytes();
  for (int round = 0; round < 2; ++round) {
    for (uint64_t key = 1; key <= 1024; ++key) map.try_emplace(key, 0);
    CHECK_EQUAL(map.bytes(), bytes);
  }
  map.try_emplace(1025, 0);
  CHECK(map.bytes() > bytes);
}

TEST(key_set) {
  KeySet set;
  CHECK(!set.has(0) && !set.has(1));
  CHECK(set.add(0) && !set.add(0) && set.has(0));  // 0 is a valid hash
  for (uint64_t key = 2; key < 3000; ++key) CHECK(set.add(key << 32));
  for (uint64_t key = 2; key < 3000; ++key) CHECK(!set.add(key << 32));
  CHECK_EQUAL(set.size(), 2999u);
}

TEST(number_table) {
  NumberTable table;
  std::vector<uint64_t> things;
  const auto add =
      [&](uint64_t thing) {  // hashes that agree in the part that a slot stores, or entirely
        const uint64_t hash = thing % 3 == 0 ? thing << 32 : thing / 2;
        const auto made = table.insert(hash, [&](uint32_t n) { return things[n] == thing; });
        if (made.second) things.push_back(thing);
        CHECK_EQUAL(table.find(hash, [&](uint32_t n) { return things[n] == thing; }), made.first);
        return made;
      };
  CHECK_EQUAL(table.find(5, [](uint32_t) { return true; }), NumberTable::kNone);
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < 1000; ++i) {
      CHECK((add(i) == std::pair<uint32_t, bool>(i, true)));
    }
    for (uint32_t i = 0; i < 1000; ++i) {
      CHECK((add(i) == std::pair<uint32_t, bool>(i, false)));
    }
    table.clear();
    things.clear();
    CHECK_EQUAL(table.size(), 0u);
  }
}

TEST(word_numbers) {
  WordNumbers words;
  CHECK_EQUAL(words.find("w0"), WordNumbers::kNone);
  for (int round = 0; round < 2; ++round) {
    const std::string longer(100'000, 'x');
    std::vector<std::string_view> kept;
    CHECK_EQUAL(words.add(""), 0u);  // any bytes
    CHECK_EQUAL(words.add({"\0 \n", 3}), 1u);
    CHECK_EQUAL(words.add(longer), 2u);
    for (uint32_t id = 0; id < 3; ++id) kept.push_back(words.word(id));
    for (int i = 0; i < 5000; ++i) {
      CHECK_EQUAL(words.add(numbered("w", i)), static_cast<uint32_t>(i + 3));
      kept.push_back(words.word(static_cast<uint32_t>(i + 3)));
    }
    for (int i = 0; i < 5000; ++i)
      CHECK_EQUAL(words.add(numbered("w", i)), words.find(kept[i + 3]));
    CHECK_EQUAL(words.size(), 5003u);
    CHECK(words.find("") == 0 && words.find("w5000") == WordNumbers::kNone);
    CHECK(words.word(1) == std::string_view("\0 \n", 3) && words.word(2) == longer);
    for (uint32_t id = 0; id < kept.size(); ++id) {
      CHECK(words.word(id).data() == kept[id].data());  // nothing has moved
    }
    WordNumbers others;
    others.add("w7");
    others.add(words);
    CHECK_EQUAL(others.size(), words.size());
    CHECK(others.find("w7") == 0 && others.find("") == 1 && others.find("w0") == 4);
    words.clear();
    CHECK_EQUAL(words.size(), 0u);
    CHECK_EQUAL(words.find("w0"), WordNumbers::kNone);
  }
}

TEST(sinks_share_their_feature_log) {
  Weights weights;
  for (int i = 0; i < 600; i += 2) weights.set(feature_id(numbered("t:", i)), 2.0F);
  features::Memo memo(&weights);
  int composed = 0;
  const auto fire = [&](features::Sink& sink, int i) {
    sink.add(&memo, static_cast<uint64_t>(i), 1, [&](std::string& name) {
      ++composed;
      name += numbered("t:", i);
    });
  };
  features::Sink sums(memo, nullptr, nullptr);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 600; ++i) fire(sums, i);
  }
  CHECK_EQUAL(composed, 600);
  CHECK_NEAR(sums.score(), 2 * 300 * 2.0, 1e-9);

  // A sink with names composes only names that the log lacks.
  auto recent = std::make_shared<features::RecentNames>();
  recent->add(feature_id("t:1"));
  features::NameLog names(recent);
  std::vector<features::Fired> fired;
  features::Sink records(memo, &fired, &names);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3; ++i) fire(records, i);
  }
  CHECK_EQUAL(composed, 602);
  CHECK_EQUAL(names.size(), 2u);
  CHECK_EQUAL(fired.size(), 6u);
  CHECK_EQUAL(fired[1].id, feature_id("t:1"));
  CHECK_NEAR(records.score(), 2 * 2 * 2.0, 1e-9);
  CHECK(names.has(feature_id("t:0")) && names.has(feature_id("t:1")));
  CHECK(!names.has(feature_id("t:3")));
}

}  // namespace
}  // namespace hopefear
