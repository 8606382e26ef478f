#include <algorithm>
#include <sstream>
#include <string>

#include "base/io.hpp"
#include "decode/chart_decoder.hpp"
#include "rules/cdec_grammar.hpp"
#include "tests/test.hpp"

namespace hopefear::decode {
namespace {

const ChartOptions kOptions = {15, 0, true, false, 1'000'000, "X", "S", "Goal", true};

// Fires a feature for each gap's position; features of the span are separate from those that all
// uses of the rule share.
class Gaps : public features::Template {
 public:
  explicit Gaps(bool per_edge) : Template("gaps"), per_edge_(per_edge) {}
  bool needs_gaps() const override { return per_edge_; }
  void fire(const features::RuleUse& use, features::Sink& sink) const override {
    const bool has_gaps = std::any_of(use.source_side.begin(), use.source_side.end(),
                                      [](int32_t symbol) { return symbol < 0; });
    if (!per_edge_ || !has_gaps) write(use, sink);
  }
  void fire_gaps(const features::RuleUse& use, features::Sink& sink) const override {
    write(use, sink);
  }

 private:
  void write(const features::RuleUse& use, features::Sink& sink) const {
    std::ostringstream feature;
    feature << name_ << ":" << use.span.begin << "-" << use.span.end << "|"
            << use.source_side.size();
    for (const features::SourceSpan& gap : use.gaps) {
      feature << "|" << gap.begin << "-" << gap.end;
    }
    sink.add(feature.str(), 1);
  }

  bool per_edge_;
};

std::shared_ptr<const rules::RuleTable> toy_table() {
  MemorySource source("toy grammar",
                      "[X] ||| u ||| a ||| tm=-1\n"
                      "[X] ||| [X,1] [X,2] ||| [X,2] [X,1] ||| tm=-2\n"
                      "[X] ||| u [X,1] ||| [X,1] b ||| tm=-3\n");
  return std::make_shared<const rules::RuleTable>(rules::read_cdec({&source}, "{}"));
}

Forest parse_with(std::shared_ptr<const features::Template> made, features::NameLog& names,
                  std::shared_ptr<FeatureNames> shared) {
  const ChartDecoder decoder(kOptions, {}, {toy_table()}, {}, {std::move(made)}, std::move(shared));
  const std::vector<std::string> words = {"u", "u", "u"};
  return decoder.parse({words, "0", nullptr}, Weights(), true, names).forest;
}

size_t fired(const Forest& forest, std::string_view name) {
  const FeatureId id = feature_id(name);
  size_t edges = 0;
  const ForestView& a = forest.arrays();
  for (uint32_t e = 0; e < forest.edges(); ++e) {
    bool has = false;
    const auto look = [&](uint32_t f, float value) { has |= a.feature_ids[f] == id && value == 1; };
    if (a.rows[e] != kNoRow) for_row_features(a, a.rows[e], look);
    for_own_features(a, e, look);
    edges += has;
  }
  return edges;
}

TEST(chart_templates_see_gaps_if_they_declare_it) {
  features::NameLog names;
  auto shared = std::make_shared<FeatureNames>();
  const Forest forest = parse_with(std::make_shared<Gaps>(true), names, shared);
  CHECK_EQUAL(fired(forest, "gaps:0-3|2|0-1|1-3"), 1u);
  CHECK_EQUAL(fired(forest, "gaps:0-3|2|0-2|2-3"), 1u);
  CHECK_EQUAL(fired(forest, "gaps:0-3|2|1-3"), 1u);
  CHECK_EQUAL(fired(forest, "gaps:1-2|1"), 1u);
  names.move_to(*shared);
  CHECK_EQUAL(shared->name(feature_id("gaps:0-3|2|1-3")), "gaps:0-3|2|1-3");
}

TEST(chart_rows_are_shared_by_all_uses_of_a_rule) {
  features::NameLog names;
  auto shared = std::make_shared<FeatureNames>();
  const Forest forest = parse_with(std::make_shared<Gaps>(false), names, shared);
  CHECK_EQUAL(fired(forest, "gaps:0-3|2"), 3u);  // two splits of one rule, one of the other
  // Three rules and two rows of glue; features of a span belong to the edges.
  CHECK_EQUAL(forest.rows(), 3u + 2u);
}

// There are 160 million ways to divide 39 words among ten gaps.
TEST(chart_edges_are_limited_before_they_are_made) {
  std::ostringstream grammar;
  grammar << "[X] ||| u ||| a\n[X] ||| [X,1] u ||| [1] a\n[X] ||| u";
  for (int i = 1; i <= 10; ++i) grammar << " [X," << i << "]";
  grammar << " |||";
  for (int i = 1; i <= 10; ++i) grammar << " [" << i << "]";
  const std::string text = grammar.str();
  MemorySource source("many gaps", text);
  const auto table = std::make_shared<const rules::RuleTable>(rules::read_cdec({&source}, "{}"));
  ChartOptions options = kOptions;
  options.span_limit = 40;
  options.edge_limit = 10000;
  const ChartDecoder decoder(options, {}, {table}, {}, {}, std::make_shared<FeatureNames>());
  const std::vector<std::string> words(40, "u");
  features::NameLog names;
  const ChartDecoder::Output output = decoder.parse({words, "", nullptr}, Weights(), true, names);
  CHECK(output.forest.goal().has_value());
  CHECK_EQUAL(output.span_limit, 10);
}

TEST(chart_forests_are_valid_before_and_after_expanding) {
  const ChartDecoder decoder(kOptions, {}, {toy_table()}, {}, {}, std::make_shared<FeatureNames>());
  for (size_t n = 0; n < 7; ++n) {
    const std::vector<std::string> words(n, "u");
    features::NameLog names;
    for (const size_t beam : {size_t{0}, size_t{1}, size_t{50}}) {
      const Forest forest = decoder.decode({words, "", nullptr}, Weights(), beam, names).forest;
      CHECK(forest.goal().has_value());
      CHECK_EQUAL(fault_of(forest.arrays(), *forest.goal(), forest.vocabulary()->size()), "");
    }
  }
}

}  // namespace
}  // namespace hopefear::decode
