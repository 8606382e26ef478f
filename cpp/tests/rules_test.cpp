// Parts of the rules that Python cannot reach: the sorter, rules with nonterminals, damaged tables.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "base/binary_file.hpp"
#include "base/external_sorter.hpp"
#include "rules/hiero.hpp"
#include "rules/rule_counts.hpp"
#include "rules/rule_table.hpp"
#include "rules/significance.hpp"
#include "rules/table_writer.hpp"
#include "rules/vocabulary.hpp"
#include "tests/test.hpp"

namespace hopefear::rules {
namespace {

std::vector<std::string> sorted_by(RecordSorter& sorter, const std::vector<std::string>& records) {
  for (size_t i = 0; i < records.size(); ++i) {
    sorter.shard(i % sorter.shards()).add(records[i]);
  }
  sorter.sort(2);
  std::vector<std::string> result;
  std::string_view record;
  while (sorter.next(record)) result.emplace_back(record);
  return result;
}

TEST(record_sorter) {
  std::mt19937 random(1);
  std::vector<std::string> records;
  for (int i = 0; i < 60'000; ++i) {
    std::string record;
    for (uint32_t n = random() % 30; n > 0; --n) record += static_cast<char>(1 + random() % 3);
    record += '\0';  // so that no record is a prefix of another
    records.push_back(record);
  }
  records[7] = std::string(200'000, '\2') + '\0';  // larger than a block
  records[8] = std::string(200'000, '\2') + '\1' + '\0';
  std::vector<std::string> expected = records;
  std::sort(expected.begin(), expected.end());
  RecordSorter small(1, 3, ""), large(uint64_t{1} << 30, 1, "");
  CHECK(sorted_by(small, records) == expected);
  CHECK(small.spilled() > 0);
  CHECK(sorted_by(large, records) == expected);
  CHECK_EQUAL(large.spilled(), 0u);
  small.clear();
  CHECK_EQUAL(small.records(), records.size());
  CHECK(small.spilled() > 0);
  RecordSorter none(1, 2, "");
  CHECK(sorted_by(none, {}).empty());
}

// Runs that other processes sorted are merged with the sorter's own records.
TEST(record_sorter_with_runs_of_others) {
  std::mt19937 random(1);
  std::vector<std::string> records;
  for (int i = 0; i < 30'000; ++i) {
    std::string record;
    for (uint32_t n = random() % 30; n > 0; --n) record += static_cast<char>(1 + random() % 3);
    records.push_back(record + '\0');
  }
  records[7] = std::string(200'000, '\2') + '\0';  // larger than a buffer
  records[8] = std::string(200'000, '\2') + '\1' + '\0';
  std::vector<std::string> expected = records;
  std::sort(expected.begin(), expected.end());
  for (const size_t kept : {size_t{0}, records.size() / 5}) {
    const std::vector<std::string> own(records.begin(),
                                       records.begin() + static_cast<ptrdiff_t>(kept));
    std::vector<std::vector<std::string>> runs(40);  // the last ones are empty
    for (size_t i = kept; i < records.size(); ++i) runs[random() % 35].push_back(records[i]);
    RecordSorter sorter(1, 2, "");
    for (std::vector<std::string>& run : runs) {
      std::sort(run.begin(), run.end());
      FrontCoder coder;
      std::string coded;
      for (const std::string& record : run) coder.add(record, coded);
      sorter.add_run(coded, run.size());
    }
    CHECK(sorted_by(sorter, own) == expected);
    CHECK_EQUAL(sorter.records(), records.size());
    const uint64_t spilled = sorter.spilled();
    CHECK(spilled > 0);
    sorter.clear();
    CHECK_EQUAL(sorter.records(), records.size());
    CHECK_EQUAL(sorter.spilled(), spilled);
  }
}

TEST(damaged_runs_are_errors) {
  const auto merged = [](std::string_view coded) {
    RecordSorter sorter(1, 1, "");
    sorter.add_run(coded, 1);
    return sorted_by(sorter, {});
  };
  FrontCoder coder;
  std::string coded;
  coder.add("abc", coded);
  coder.add("abd", coded);
  CHECK_EQUAL(merged(coded).size(), 2u);
  for (size_t size = 1; size < coded.size(); ++size) {
    if (size != 5)
      CHECK_THROWS(std::runtime_error, merged(std::string_view(coded).substr(0, size)));
  }
  CHECK_THROWS(std::runtime_error, merged("\x01\x01z"));  // shares a byte with no record
}

// A table may have a word of megabytes, and many phrases that begin with it.
TEST(record_sorter_of_records_with_a_long_common_prefix) {
  const std::string beginning(size_t{3} << 20, 'x');
  std::vector<std::string> records;
  for (const char c : {'e', 'b', 'h', 'a', 'c', 'g', 'd', 'f'}) records.push_back(beginning + c);
  std::vector<std::string> expected = records;
  std::sort(expected.begin(), expected.end());
  RecordSorter sorter(uint64_t{1} << 28, 0, "");  // as with one shard
  CHECK_EQUAL(sorter.shards(), 1u);
  CHECK(sorted_by(sorter, records) == expected);
}

TEST(words_are_ordered_as_in_text) {
  const std::vector<std::string> words = {"a",   "a\x01", "a\x7f", "ab",      "b",
                                          "|||", "||",    "~",     "\xc3\xa9"};
  for (const std::string& a : words) {
    for (const std::string& b : words) CHECK_EQUAL(word_less(a, b), a + " " < b + " ");
  }
}

std::string bytes_of(const std::vector<Link>& links) {
  std::string bytes;
  for (const Link& link : links) {
    bytes += static_cast<char>(link.target);
    bytes += static_cast<char>(link.source);
  }
  return bytes;
}

TEST(ties_of_alignments) {
  // Over target words {{0},{1}} < {{0,1},{}}; over source words {{0},{1}} > {{0},{0}}.
  const std::vector<Link> straight = {{0, 0}, {1, 1}}, both = {{0, 0}, {1, 0}};
  AlignmentVotes votes;
  RuleCounts pair;
  votes.add(bytes_of(straight), 1);
  votes.add(bytes_of(both), 1);
  votes.decide(pair);
  CHECK(pair.links == both);
  CHECK(pair.source_links == straight);
  votes.add(bytes_of(both), 1);
  votes.decide(pair);
  CHECK(pair.source_links == both);
}

TEST(fisher_exact_test) {
  CHECK_NEAR(fisher(1, 1, 1, 1000), std::log(1000.0), 1e-9);
  // Drawing 2 of 5 with 3 marked: both marked with 3/10, at least one with 9/10.
  CHECK_NEAR(fisher(2, 3, 2, 5), -std::log(0.3), 1e-9);
  CHECK_NEAR(fisher(1, 3, 2, 5), -std::log(0.9), 1e-9);
  CHECK_NEAR(fisher(5, 5, 5, 5), 0, 1e-9);
}

constexpr Symbol X1 = kNonterminal, X2 = kNonterminal | 1;

// S -> a X b / c X d, X -> X a Y / Y e X (labels X, Y), and X -> a / c e.
RuleTable write_small(const std::string& path) {
  TableWriter writer({{"p", "q"}, 0}, "");
  const std::vector<Symbol> first = {0}, second = {0, X1, 1}, third = {X1, 0, X2};
  const std::vector<Symbol> target1 = {0, 2}, target2 = {0, X1, 1}, target3 = {X2, 2, X1};
  const std::vector<float> scores = {-1, -2};
  const std::vector<Link> links = {{0, 0}}, links2 = {{0, 0}, {1, 1}, {2, 2}}, links3 = {{1, 1}};
  writer.add({first, target1, links, scores, {1, 2, 0.5}, 7, 0});
  const std::vector<SparseScore> sparse = {{0, 0.5}, {1, -3}};
  RuleView sparse_rule = {second, target2, links2, scores, {1, 1, 1}, kManySentences, 1};
  sparse_rule.sparse = sparse;
  writer.add(sparse_rule);
  writer.add({third, target3, links3, scores, {1, 1, 1}, 0, 0});
  const std::vector<std::string_view> source = {"a", "b"}, target = {"c", "d", "e"},
                                      labels = {"X", "Y"}, features = {"r", "s"};
  const TableWriter::Names names = {source, target, labels, features};
  if (path.empty()) return writer.finish_in_memory("small", names, "{}");
  writer.finish(path, names, "{}");
  return RuleTable::open(path);
}

void check_nonterminals(const RuleTable& table) {
  RuleTable::Node node = table.child(table.root(), X1);
  CHECK_EQUAL(table.rules(node).size(), 0u);
  node = table.child(table.child(node, 0), X2);
  CHECK_EQUAL(table.rules(node).size(), 1u);
  const RuleView rule = table.rule(table.rules(node).begin);
  CHECK_EQUAL(rule.target.size(), 3u);
  CHECK_EQUAL(rule.target[0], X2);
  CHECK_EQUAL(int{rule.arity}, 2);
  CHECK_EQUAL(rule.sentence, 0u);
  CHECK(table.child(node, X1) == RuleTable::kNoNode);
  std::vector<size_t> lengths;
  table.walk([&](uint32_t, const RuleView& view) { lengths.push_back(view.source.size()); });
  CHECK((lengths == std::vector<size_t>{1, 3, 3}));
}

TEST(nonterminals_in_a_table) {
  const test::TemporaryFile file;
  for (const bool in_memory : {false, true}) {
    RuleTable made = write_small(in_memory ? "" : file.path);
    const RuleTable table = std::move(made);  // its spans stay valid
    CHECK_EQUAL(table.size(), 3u);
    CHECK_EQUAL(table.sparse(0).size(), 0u);
    CHECK_EQUAL(table.sparse(1).size(), 2u);
    CHECK_EQUAL(table.sparse(1)[1].value, -3.0f);
    CHECK(table.sparse_names().word(table.sparse(1)[1].feature) == "s");
    CHECK_EQUAL(table.sparse(2).size(), 0u);
    check_nonterminals(table);
  }
}

TEST(damaged_tables_are_refused_or_read_within_bounds) {
  const test::TemporaryFile good, bad;
  write_small(good.path);
  const BinaryFile original = BinaryFile::open(good.path, kRulesKind);
  const std::vector<std::string> sections = {
      "columns",     "layout",        "source.at",    "source.text", "target.at",
      "target.text", "label.at",      "label.text",   "nodes",       "edge.symbol",
      "edge.node",   "rules",         "counts",       "scores",      "bodies",
      "info",        "sparse.places", "sparse.score", "sparse.at",   "sparse.text"};
  std::mt19937 random(3);
  int refused = 0;
  for (int round = 0; round < 600; ++round) {
    const std::string& hit = sections[random() % sections.size()];
    {
      BinaryWriter writer(bad.path, kRulesKind);
      for (const std::string& name : sections) {
        const std::span<const char> bytes = original.section<char>(name);
        std::string content(bytes.begin(), bytes.end());
        if (name == hit && !content.empty()) {
          const uint32_t value = random() % 3 == 0 ? random() : random() % 8;
          const size_t at = random() % content.size() & ~size_t{3};
          std::memcpy(content.data() + at, &value, std::min<size_t>(4, content.size() - at));
          if (random() % 8 == 0) content.resize(random() % content.size());
        }
        writer.add<char>(name, content);
      }
      writer.finish();
    }
    try {
      const RuleTable table = RuleTable::open(bad.path);
      for (RuleTable::Node node = 0; node < table.node_count(); ++node) {
        table.child(node, 0);
        table.child(node, X1);
      }
      size_t sum = 0;
      table.walk([&](uint32_t, const RuleView& rule) {
        for (const Symbol symbol : rule.target) sum += table.target_words().word(symbol).size();
        for (const Link& link : rule.links)
          sum += rule.source[link.source] + rule.target[link.target];
        for (const float score : rule.scores) sum += score < 0;
        for (const SparseScore& score : rule.sparse) {
          sum += table.sparse_names().word(score.feature).size();
        }
      });
      CHECK(sum < ~size_t{0});
    } catch (const InputError&) {
      ++refused;
    }
  }
  CHECK(refused > 100);
}

TEST(the_rules_of_one_pair_are_limited) {
  SentencePair pair;
  for (uint32_t i = 0; i < 40; ++i) {
    pair.source.push_back(i);
    pair.target.push_back(i);
    if (i % 3 == 0) pair.points.push_back({i, i});
  }
  const HieroOptions options{.max_span = 10,
                             .max_symbols = 5,
                             .max_nonterminals = 2,
                             .min_hole = 1,
                             .adjacent = false,
                             .aligned = true,
                             .tight = false,
                             .fractional = true,
                             .min_count = 1};
  size_t rules = 0;
  const auto count = [&](const HieroOccurrence&) { ++rules; };
  HieroExtractor all(options);
  all(pair, count);
  CHECK(rules > 100'000);
  HieroExtractor few(options, 1'000'000);
  CHECK_THROWS(InputError, few(pair, count));
}

}  // namespace
}  // namespace hopefear::rules
