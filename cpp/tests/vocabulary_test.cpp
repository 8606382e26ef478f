#include "base/vocabulary.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/id_numbers.hpp"
#include "features/sink.hpp"
#include "tests/test.hpp"

namespace hopefear {
namespace {

// Appended, not added: GCC 12 warns of std::string's own operator+ with a literal in front.
std::string numbered(const char* text, int number) {
  std::string made = text;
  made += std::to_string(number);
  return made;
}

// Run it under ThreadSanitizer too ('make tsan'): word() takes no lock.
TEST(words_can_be_read_while_others_come) {
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
  // The base grows too, behind what `shared` sees of it.
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

TEST(numbers_of_ids) {
  IdNumbers numbers;
  CHECK(numbers.empty());
  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < 1000; ++i) {
      const FeatureId id = i % 2 == 0 ? i + 1 : FeatureId{i} << 40;  // low bits alike, or high ones
      const auto [number, is_new] = numbers.try_emplace(id, i);
      CHECK_EQUAL(number, i);
      CHECK_EQUAL(is_new, round == 0);
    }
    numbers.reserve(5000);
  }
  numbers.clear();
  CHECK(numbers.try_emplace(7, 3).second);
}

TEST(sinks_share_what_they_remember) {
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

  // A sink with names composes once more, but only what the log lacks.
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
