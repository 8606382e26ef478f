#include <cstring>
#include <limits>
#include <random>

#include "forest/builder.hpp"
#include "forest/inference.hpp"
#include "forest/kbest.hpp"
#include "tests/test.hpp"

namespace hopefear {
namespace {

Forest small_forest() {
  auto vocabulary = std::make_shared<Vocabulary>();
  const int32_t a = vocabulary->intern("a"), b = vocabulary->intern("b");
  ForestBuilder builder(vocabulary, nullptr);
  const uint32_t x = builder.feature(11), y = builder.feature(12), z = builder.feature(13);
  const uint32_t row = builder.add_row(std::vector<FeatureEntry>{{x, 1}, {y, 2}});
  builder.add_row({});
  builder.add_row({});
  const uint64_t bits[2] = {1, 2};
  builder.add_node({1, 0, 1, a, bits});
  builder.add_node({1, 1, 2, b, {}});
  const uint32_t goal = builder.add_node();
  const std::vector<uint32_t> two = {0, 0};
  builder.add_edge(0, {}, std::vector<int32_t>{a}, row, std::vector<FeatureEntry>{{z, -1}});
  builder.add_edge(0, {}, std::vector<int32_t>{b, a}, row);
  builder.add_edge(1, {}, std::vector<int32_t>{}, 1);
  builder.add_edge(goal, two, std::vector<int32_t>{-2, b, -1}, kNoRow);
  return builder.finish(goal, "id");
}

TEST(valid_forest_has_no_fault) {
  const Forest forest = small_forest();
  CHECK_EQUAL(fault_of(forest.arrays(), 2, 2), "");
  CHECK_EQUAL(fault_of(Forest().arrays(), -1, 0), "");
  CHECK(fault_of(forest.arrays(), 3, 2) != "");
  CHECK(fault_of(forest.arrays(), 2, 1) != "");
}

// For any content of a file's arrays, either fault_of reports it or inference is safe (as the
// sanitizers check). Each trial changes one number of one array.
TEST(damaged_arrays_are_reported_or_harmless) {
  const Forest forest = small_forest();
  std::mt19937 random(5);
  size_t found = 0, harmless = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    ForestStorage copy;
    size_t k = 0;
    std::vector<std::vector<char>> bytes;
    visit_arrays(forest.arrays(), [&](const auto& array) {
      const char* data = reinterpret_cast<const char*>(array.data());
      bytes.emplace_back(data, data + array.size_bytes());
    });
    std::vector<char>& chosen = bytes[random() % bytes.size()];
    if (chosen.empty()) continue;
    if (random() % 8 == 0) {
      chosen.resize(chosen.size() / 8 * 4);  // truncated
    } else {
      const uint32_t values[] = {0, 1, 2, 5, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe};
      std::memcpy(chosen.data() + random() % (chosen.size() / 4) * 4, &values[random() % 8], 4);
    }
    visit_arrays(copy, [&](auto& array) {
      using T = typename std::remove_reference_t<decltype(array)>::value_type;
      array.resize(bytes[k].size() / sizeof(T));
      if (!array.empty()) std::memcpy(array.data(), bytes[k].data(), array.size() * sizeof(T));
      ++k;
    });
    if (fault_of(view_of(copy), 2, 2) != "") {
      ++found;
      continue;
    }
    ++harmless;
    const Forest loaded(view_of(copy), nullptr, 2, "", forest.vocabulary(), nullptr);
    Weights weights;
    weights.set(11, 0.5f);
    const std::vector<double> scores = edge_scores(loaded, weights);
    const std::vector<uint32_t> roots = {0, 1, 2};
    for (const Derivation& d : kbest(loaded, scores, roots, 10, true, 1000).derivations) {
      words_of(d);
      features_of(d);
    }
    const Posterior p = posterior(loaded, scores, roots);
    CHECK(entropy(loaded, p) >= 0);
  }
  CHECK(found > 500);
  CHECK(harmless > 100);
}

TEST(a_refused_row_leaves_the_builder_unchanged) {
  const auto vocabulary = std::make_shared<Vocabulary>();
  ForestBuilder builder(vocabulary, nullptr);
  const uint32_t x = builder.feature(11), y = builder.feature(12);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::vector<FeatureEntry>& bad :
       {std::vector<FeatureEntry>{{x, 1}, {7, 1}}, {{x, 1}, {y, infinity}}}) {
    CHECK_THROWS(std::invalid_argument, builder.add_row(bad));
  }
  const uint32_t row = builder.add_row(std::vector<FeatureEntry>{{y, 2}});
  builder.add_edge(builder.add_node(), {}, {}, row);
  const Forest forest = builder.finish(0);
  const SparseVector found = features_of({forest, {0}});
  CHECK_EQUAL(found.size(), 1u);
  CHECK_EQUAL(found.get(12), 2.0f);
}

TEST(text_hashes_concatenate) {
  const auto hash = [](const std::vector<int32_t>& words) {
    TextHash h;
    for (const int32_t w : words) h.append(w);
    return h;
  };
  const auto joined = [](TextHash a, const TextHash& b) {
    a.append(b);
    return a;
  };
  CHECK(joined(hash({1, 2}), hash({3})) == hash({1, 2, 3}));
  CHECK(joined(hash({}), hash({3})) == hash({3}));
  CHECK(joined(hash({3}), hash({})) == hash({3}));
  CHECK(!(hash({1, 2}) == hash({2, 1})));
  CHECK(!(hash({0}) == hash({0, 0})));
  CHECK(!(hash({0}) == hash({})));
}

}  // namespace
}  // namespace hopefear
