#include <cstring>
#include <map>
#include <random>

#include "features/registry.hpp"
#include "tests/test.hpp"

namespace hopefear {
namespace {

using features::Fired;
using features::Source;
using features::Template;

// Builds the string of words [begin, end) in random steps with up to three tails, some of them
// empty. Returns its state.
std::vector<std::byte> build(const Template& feature, const Source& source,
                             const std::vector<int32_t>& words, size_t begin, size_t end,
                             std::mt19937& random, features::Sink& sink) {
  std::vector<std::vector<std::byte>> tails;
  std::vector<int32_t> target;
  for (size_t at = begin; at < end;) {
    const size_t part = 1 + random() % 3;
    if (random() % 2 == 0 || end - begin == 1 || tails.size() == 3) {
      target.push_back(words[at++]);
      continue;
    }
    const size_t last = std::min(end - (end - begin > part ? 0 : 1), at + part);
    if (last <= at) continue;
    tails.push_back(build(feature, source, words, at, last, random, sink));
    target.push_back(-static_cast<int32_t>(tails.size()));
    at = last;
  }
  std::vector<const std::byte*> states;
  for (const auto& tail : tails) states.push_back(tail.data());
  std::vector<std::byte> state(feature.state_size(), std::byte{0xee});
  features::RuleUse use;
  use.source = &source;
  use.target_side = target;
  feature.fire(use, sink);
  feature.step({&source, nullptr, target, states}, sink, state.data());
  return state;
}

std::map<FeatureId, double> summed(const std::vector<Fired>& fired) {
  std::map<FeatureId, double> sums;
  for (const Fired& each : fired) sums[each.id] += each.value;
  return sums;
}

TEST(target_bigrams_of_any_bracketing) {
  const auto feature = features::make_template("target-bigrams", {{"words", {}}});
  Vocabulary vocabulary;
  const std::vector<std::string> letters = {"x", "y", "z"};
  for (const std::string& letter : letters) vocabulary.intern(letter);
  const Source source{{}, &vocabulary};
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<int32_t> words(random() % 8);
    for (int32_t& word : words) word = static_cast<int32_t>(random() % 3);
    std::map<FeatureId, double> expected;
    std::string before = "<s>";
    for (const int32_t word : words) {
      const std::string& letter = letters[static_cast<size_t>(word)];
      expected[feature_id("target-bigrams:" + before + "|" + letter)] += 1;
      before = letter;
    }
    expected[feature_id("target-bigrams:" + before + "|</s>")] += 1;

    // In any order, as in a chart.
    std::vector<Fired> fired;
    features::NameLog names;
    features::Sink sink(fired, &names);
    const auto state = build(*feature, source, words, 0, words.size(), random, sink);
    feature->finish(source, state.data(), false, sink);
    CHECK(summed(fired) == expected);
    CHECK_EQUAL(names.size(), expected.size());

    // From left to right.
    fired.clear();
    std::vector<std::byte> left(feature->state_size());
    feature->begin(left.data());
    for (const int32_t word : words) {
      const std::byte* const tail = left.data();
      const std::vector<int32_t> target = {-1, word};
      std::vector<std::byte> next(left.size());
      feature->step({&source, nullptr, target, {&tail, 1}}, sink, next.data());
      left = next;
    }
    feature->finish(source, left.data(), true, sink);
    CHECK(summed(fired) == expected);
  }
}

TEST(a_sink_sums_what_it_records) {
  Weights weights;
  weights.set(feature_id("target-bigrams:<s>|</s>"), 2.5F);
  std::vector<Fired> fired;
  features::Sink sink(weights, fired, nullptr);
  const auto feature = features::make_template("target-bigrams", {{"words", {}}});
  Vocabulary vocabulary;
  std::vector<std::byte> state(feature->state_size());
  feature->begin(state.data());
  feature->finish({{}, &vocabulary}, state.data(), true, sink);
  CHECK_EQUAL(fired.size(), size_t{1});
  CHECK_NEAR(sink.score(), 2.5, 1e-9);
}

}  // namespace
}  // namespace hopefear
