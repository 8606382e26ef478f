// Phrase decoding with damaged tables whose checksum is correct.
#include <cstddef>
#include <cstring>
#include <limits>

#include "base/binary_file.hpp"
#include "decode/phrase_decoder.hpp"
#include "rules/table_writer.hpp"
#include "tests/test.hpp"

namespace hopefear::decode {
namespace {

using rules::RuleEntry;
using rules::RuleTable;
using rules::TableWriter;

// Three translations of "a", more than the table limit, so that the decoder ranks them.
RuleTable table_with(float last_score) {
  TableWriter writer({{"p"}, 0}, "");
  const std::vector<rules::Symbol> source = {0}, targets = {0, 1, 2};
  const std::vector<float> scores = {-1, -2, last_score};
  const std::vector<rules::Link> links = {{0, 0}};
  for (size_t i = 0; i < 3; ++i) {
    writer.add({source,
                {&targets[i], 1},
                links,
                {&scores[i], 1},
                {1, 1, 1},
                rules::kManySentences,
                rules::kNoLabel});
  }
  const std::vector<std::string_view> source_words = {"a"}, target_words = {"x", "y", "z"};
  return writer.finish_in_memory("small", {source_words, target_words}, "{}");
}

// The same table after `change`, which gets all entries.
template <typename Change>
RuleTable changed(const RuleTable& table, Change&& change) {
  BinaryWriter writer(rules::kRulesKind);
  for (const char* name : {"columns", "layout", "source.at", "source.text", "target.at",
                           "target.text", "label.at", "label.text", "nodes", "edge.symbol",
                           "edge.node", "rules", "counts", "scores", "bodies", "info"}) {
    const std::span<const char> bytes = table.file().section<char>(name);
    std::vector<char> content(bytes.begin(), bytes.end());
    change(std::string_view(name), content);
    writer.add<char>(name, content);
  }
  return RuleTable::from_memory(writer.finish_in_memory(), "damaged");
}

size_t edges(RuleTable table, size_t table_limit) {
  const PhraseModel model(std::make_shared<const RuleTable>(std::move(table)), {});
  PhraseInput input;
  input.words = {"a"};
  const PhraseSettings settings{{false, 10, 10, 0, -1}, table_limit, 0};
  return decode(model, Weights(), input, settings, nullptr, nullptr).forest.edges();
}

TEST(phrase_search_refuses_nan_scores) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const size_t limit : {size_t{0}, size_t{2}}) {
    CHECK_EQUAL(edges(table_with(-3), limit), (limit == 0 ? 3 : 2) + 2u);
    for (const float score : {kNan, kInfinity, -kInfinity}) {
      CHECK_THROWS(InputError, edges(table_with(score), limit));
    }
  }
}

TEST(phrase_search_refuses_rules_at_a_wrong_node) {
  const RuleTable good = table_with(-3);
  const auto nonterminal = [](std::string_view name, std::vector<char>& content) {
    // A rule with a nonterminal in its source may have one in its target, which is no word.
    const uint8_t arity = 1;
    if (name == "rules") std::memcpy(content.data() + offsetof(RuleEntry, arity), &arity, 1);
    const rules::Symbol gap = rules::kNonterminal;
    if (name == "bodies") std::memcpy(content.data(), &gap, sizeof gap);
  };
  const auto longer = [](std::string_view name, std::vector<char>& content) {
    const uint8_t size = 9;
    if (name == "rules") std::memcpy(content.data() + offsetof(RuleEntry, source_size), &size, 1);
  };
  const auto deep = [](std::string_view name, std::vector<char>& content) {
    const uint32_t longest = 1 << 30;
    if (name == "layout") {
      std::memcpy(content.data() + offsetof(rules::TableLayout, longest_source), &longest, 4);
    }
  };
  CHECK_THROWS(InputError, changed(good, deep));
  for (const size_t limit : {size_t{0}, size_t{2}}) {
    CHECK_THROWS(InputError, edges(changed(good, nonterminal), limit));
    CHECK_THROWS(InputError, edges(changed(good, longer), limit));
    CHECK_EQUAL(edges(changed(good, [](auto, auto&) {}), limit), (limit == 0 ? 3 : 2) + 2u);
  }
}

}  // namespace
}  // namespace hopefear::decode
