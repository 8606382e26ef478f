#include "metrics/bleu_references.hpp"
#include "metrics/ter_references.hpp"
#include "tests/test.hpp"

namespace hopefear {
namespace {

std::vector<std::string> units_of(std::string_view line, TextUnit unit) {
  std::vector<std::string> units;
  for_each_unit(line, unit, [&](std::string_view word) { units.emplace_back(word); });
  return units;
}

std::vector<WordId> numbers(ReferenceSet& set, std::string_view line) {
  std::vector<WordId> ids;
  for_each_unit(line, set.unit(), [&](std::string_view word) { ids.push_back(set.intern(word)); });
  return ids;
}

TEST(units_of_a_line) {
  CHECK((units_of(" a\tbc\u3000d\u00a0\n", TextUnit::word) ==
         std::vector<std::string>{"a", "bc", "d"}));
  CHECK((units_of("a \u732b\u00e9", TextUnit::character) ==
         std::vector<std::string>{"a", "\u732b", "\u00e9"}));
  CHECK(units_of("", TextUnit::word).empty());
  CHECK(units_of("\xe2\x80", TextUnit::word).size() ==
        1);  // a truncated character is not read past the end
}

// The interface for forest inference: spans of word numbers, one counter per thread.
TEST(counting_word_numbers_of_a_derivation) {
  BleuReferences set(4, TextUnit::word, LengthChoice::closest, true);
  const std::vector<std::vector<WordId>> references{numbers(set, "a b c d"), numbers(set, "a a")};
  set.add_sentence(references);
  const std::vector<WordId> words{set.find("a"), set.find("a"), set.find("b"), set.find("zzz")};
  CHECK_EQUAL(words.back(), kNoReferenceWord);
  int32_t row[9];
  set.counter()->count(0, words, row);
  const int32_t expected[9] = {3, 4, 2, 3, 0, 2, 0, 1, 4};
  for (size_t i = 0; i < 9; ++i) CHECK_EQUAL(row[i], expected[i]);
}

TEST(the_index_grows) {
  WordIndex index;
  for (int i = 0; i < 5000; ++i) {
    CHECK_EQUAL(index.intern(std::to_string(i)), static_cast<WordId>(i + 1));
  }
  for (int i = 0; i < 5000; ++i) {
    CHECK_EQUAL(index.find(std::to_string(i)), static_cast<WordId>(i + 1));
  }
  CHECK_EQUAL(index.find("x"), kNoReferenceWord);
}

TEST(a_shift_is_one_edit) {
  TerReferences set;
  const std::vector<std::vector<WordId>> references{numbers(set, "a b c d e f")};
  set.add_sentence(references);
  int32_t row[2];
  set.counter()->count(0, numbers(set, "d e f a b c"), row);
  CHECK_EQUAL(row[0], 1);
  CHECK_EQUAL(row[1], 6 * kLengthUnit);
}

}  // namespace
}  // namespace hopefear
