// Dense features on random small models: the score of search equals the recorded features times
// weights, and the recorded features equal their definitions.
#include <bit>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "base/io.hpp"
#include "decode/chart_decoder.hpp"
#include "decode/phrase_decoder.hpp"
#include "forest/derivation.hpp"
#include "lm/model_builder.hpp"
#include "rules/cdec_grammar.hpp"
#include "rules/table_writer.hpp"
#include "tests/test.hpp"

namespace hopefear::decode {
namespace {

using Random = std::mt19937;

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

template <typename Number>
std::string numbered(const char* name, Number number) {
  std::ostringstream text;
  text << name << number;
  return text.str();
}

// Over the words x y z, of order 1 to 3; any n-gram may be missing.
std::shared_ptr<const lm::Model> random_lm(Random& random) {
  const std::vector<std::string> words = {"x", "y", "z"};
  std::vector<std::vector<std::string>> ngrams = {{"<unk>", "<s>", "</s>", "x", "y", "z"}};
  const size_t order = 1 + random() % 3;
  for (size_t n = 2; n <= order; ++n) {
    std::vector<std::string>& longer = ngrams.emplace_back();
    for (const std::string& ngram : ngrams[n - 2]) {
      if (ngram.ends_with("</s>") || ngram == "<unk>") continue;
      for (const std::string& word : {words[0], words[1], words[2], std::string("</s>")}) {
        if (random() % 2 == 0) longer.push_back(ngram + " " + word);
      }
    }
  }
  std::ostringstream arpa;
  arpa << "\\data\\\n";
  for (size_t n = 1; n <= order; ++n) arpa << "ngram " << n << "=" << ngrams[n - 1].size() << "\n";
  for (size_t n = 1; n <= order; ++n) {
    arpa << "\n\\" << n << "-grams:\n";
    for (const std::string& ngram : ngrams[n - 1]) {
      arpa << uniform(random, -3, -0.1) << "\t" << ngram;
      if (n < order && !ngram.ends_with("</s>")) arpa << "\t" << uniform(random, -1, 0.2);
      arpa << "\n";
    }
  }
  arpa << "\n\\end\\\n";
  const std::string text = arpa.str();
  MemorySource source("random", text);
  return lm::read_arpa(source);
}

std::vector<std::string> random_words(Random& random, std::string_view letters, size_t most) {
  std::vector<std::string> words(1 + random() % most);
  for (std::string& word : words) word = letters[random() % letters.size()];
  return words;
}

// A random derivation of a node.
Derivation random_derivation(Random& random, const Forest& forest, uint32_t root) {
  return {forest, expand_derivation(forest, root, [&](uint32_t node) {
            const auto [begin, end] = forest.in_edges(node);
            return begin + static_cast<uint32_t>(random() % (end - begin));
          })};
}

std::map<FeatureId, double> values_of(const SparseVector& vector) {
  std::map<FeatureId, double> values;
  for (size_t i = 0; i < vector.ids().size(); ++i) values[vector.ids()[i]] = vector.values()[i];
  return values;
}

// ---- phrases ----

std::shared_ptr<const rules::RuleTable> random_table(Random& random, uint32_t reordering) {
  rules::Columns columns{{"p", "q"}, reordering};
  for (uint32_t c = 0; c < reordering; ++c) columns.names.push_back(numbered("r", c));
  rules::TableWriter writer(columns, "");
  std::set<std::vector<rules::Symbol>> sources;  // a b c; d is unknown
  for (int i = 0; i < 8; ++i) {
    std::vector<rules::Symbol> side(1 + random() % 3);
    for (rules::Symbol& symbol : side) symbol = random() % 3;
    sources.insert(side);
  }
  for (const std::vector<rules::Symbol>& side : sources) {
    std::set<std::vector<rules::Symbol>> targets;
    for (size_t n = 1 + random() % 3; n > 0; --n) {
      std::vector<rules::Symbol> target(1 + random() % 3);
      for (rules::Symbol& symbol : target) symbol = random() % 3;
      targets.insert(target);
    }
    for (const std::vector<rules::Symbol>& target : targets) {
      std::vector<float> scores(columns.size());
      for (float& score : scores) score = static_cast<float>(-0.5 * (random() % 4));
      writer.add({side, target, {}, scores, {1, 1, 1}, rules::kManySentences, rules::kNoLabel});
    }
  }
  const std::vector<std::string_view> source_words = {"a", "b", "c"},
                                      target_words = {"x", "y", "z"};
  return std::make_shared<const rules::RuleTable>(
      writer.finish_in_memory("random", {source_words, target_words}, "{}"));
}

// The phrases of a derivation, from its edges, in reverse order.
std::vector<PhraseUse> phrases_of(const Derivation& derivation) {
  const ForestView& a = derivation.forest.arrays();
  std::vector<PhraseUse> phrases;
  for (size_t i = derivation.edges.size(); i-- > 0;) {
    const uint32_t edge = derivation.edges[i], head = a.heads[edge];
    if (a.rows[edge] == kNoRow) continue;  // the start, the goal
    const uint32_t tail = derivation.forest.tails(edge)[0];
    PhraseUse& phrase = phrases.emplace_back();
    const uint64_t fresh =
        derivation.forest.coverage(head)[0] & ~derivation.forest.coverage(tail)[0];
    phrase.begin = std::countr_zero(fresh);
    phrase.end = 64 - std::countl_zero(fresh);
    for (const int32_t word : derivation.forest.target(edge)) {
      if (word < 0) continue;
      phrase.target.emplace_back(derivation.forest.vocabulary()->word(word));
    }
  }
  return phrases;
}

TEST(phrase_scores_are_recorded_features_times_weights) {
  Random random(1);
  size_t nodes = 0, derivations = 0;
  for (int round = 0; round < 200; ++round) {
    PhraseSpec spec;
    for (size_t l = 0, count = random() % 3; l < count; ++l) {
      spec.lms.push_back({random_lm(random), numbered("lm", l), uniform(random, 0.5, 3)});
      if (random() % 2 == 0) spec.lms.back().unknown = {numbered("oov", l), 1};
    }
    spec.early_distortion = random() % 2 == 0;
    CountSpec* const counts[] = {&spec.words, &spec.phrases, &spec.distortion, &spec.unknown};
    for (size_t i = 0; i < 4; ++i) {
      if (random() % 4 == 0) continue;  // the model lacks it
      *counts[i] = {numbered("count", i), static_cast<float>(uniform(random, -2, 2))};
    }
    uint32_t reordering = 3 * static_cast<uint32_t>(random() % 3);
    if (random() % 2 == 0) {
      using namespace features;
      const Orientations sets[] = {kMsd, kMslr, kMonotonicity, kLeftRight};
      ReorderingSpec& own = spec.reordering.emplace();
      own.orientations = sets[random() % 4];
      own.backward = random() % 2 == 0;
      own.forward = !own.backward || random() % 2 == 0;
      const uint32_t directions = uint32_t{own.backward} + uint32_t{own.forward};
      reordering = directions * own.orientations.size;
      if (random() % 2 == 0) {
        for (uint32_t d = 0; d < directions; ++d) own.collapsed.push_back(numbered("all", d));
      }
    }
    const PhraseModel model(random_table(random, reordering), spec);
    Weights weights;
    for (const FeatureId id : model.ids()) {
      weights.set(id, static_cast<float>(uniform(random, -1, 1)));
    }
    PhraseInput input;
    input.words = random_words(random, "abcd", 7);
    input.exclusive = false;
    for (size_t i = random() % 3; i > 0; --i) {
      const auto begin = static_cast<int32_t>(random() % input.words.size());
      // Different from every phrase of the table.
      std::vector<std::string> target = random_words(random, "xyzw", 2);
      target.push_back("w");
      input.forced.push_back({begin, begin + 1, target, -0.25});
    }
    const SearchLimits limits{random() % 2 == 0, 20, 60, 0, static_cast<int32_t>(random() % 5) - 1};
    const PhraseWeights dense(model, weights);
    const auto options = collect_options(model, dense, input, random() % 3, nullptr);
    const SpanTable spans(*options, 10);
    PhraseSearch search(model, dense, *options, spans, limits, false);
    search.run();
    const Forest forest =
        make_forest(model, *options, search.graph(), "", nullptr, nullptr, dense.memo());

    for (uint32_t o = 0; o < options->size(); ++o) {
      features::ValueSums sums{std::vector<double>(model.ids().size())};
      options->add_dense(o, sums);
      for (size_t l = 0; l < model.lms().size(); ++l) {
        model.lms()[l].alone(options->lm_phrase(o, l), sums);
      }
      double estimate = 0;
      for (size_t f = 0; f < sums.values.size(); ++f) estimate += dense.dense()[f] * sums.values[f];
      CHECK_NEAR(options->option(o).estimate, estimate, 1e-9);
    }
    const std::vector<double> recorded = best_edges(forest, edge_scores(forest, weights)).scores;
    for (const SearchBin& bin : search.graph().bins) {
      for (uint32_t i = 0; i < bin.nodes.size(); ++i, ++nodes) {
        CHECK_NEAR(bin.nodes[i].score, recorded[bin.first + i], 1e-5);
      }
    }
    const auto [begin, end] = forest.in_edges(*forest.goal());
    for (int i = 0; i < 10 && begin < end; ++i, ++derivations) {
      const Derivation derivation = random_derivation(random, forest, *forest.goal());
      features::NameLog log;
      const auto found = values_of(features_of(derivation));
      auto expected = values_of(score_derivation(model, input, phrases_of(derivation), log));
      for (const auto& [id, value] : found) CHECK_NEAR(value, expected[id], 1e-4);
      for (const auto& [id, value] : expected) CHECK(value == 0 || found.contains(id));
    }
  }
  CHECK(nodes > 4000);
  CHECK(derivations > 1500);
}

// ---- rules ----

std::shared_ptr<const rules::RuleTable> random_grammar(Random& random) {
  std::ostringstream grammar;
  const auto words = [&](std::string_view letters, size_t most) {
    std::string text;
    for (size_t n = random() % (most + 1); n > 0; --n) {
      text += ' ';
      text += letters[random() % letters.size()];
    }
    return text;
  };
  for (const char* source : {"a", "b", "c", "a b"}) {
    for (size_t n = 1 + random() % 2; n > 0; --n) {
      grammar << "[X] ||| " << source << " |||" << words("xyzw", 3)
              << " y ||| p=" << uniform(random, -2, 0) << " q=" << uniform(random, -2, 0) << "\n";
    }
  }
  for (const char* source : {"a [X,1]", "[X,1] b", "[X,1] c [X,2]", "[X,1] [X,2]"}) {
    const bool both = std::string_view(source).find("[X,2]") != std::string_view::npos;
    const bool swap = random() % 2 == 0;
    grammar << "[X] ||| " << source << " |||" << words("xyz", 2)
            << (both && swap ? " [X,2]" : " [X,1]") << words("xyz", 1)
            << (both ? swap ? " [X,1]" : " [X,2]" : "") << words("xyz", 1)
            << " ||| p=" << uniform(random, -2, 0) << "\n";
  }
  const std::string text = grammar.str();
  MemorySource source("random grammar", text);
  return std::make_shared<const rules::RuleTable>(rules::read_cdec({&source}, "{}"));
}

TEST(chart_scores_are_recorded_features_times_weights) {
  Random random(2);
  size_t edges = 0, derivations = 0;
  for (int round = 0; round < 150; ++round) {
    features::ChartFeatures dense;
    auto names = std::make_shared<FeatureNames>();
    const auto feature = [&](const std::string& name) -> features::Count {
      if (random() % 5 == 0) return {};  // the model lacks it
      dense.ids.push_back(names->intern(name));
      return {static_cast<uint32_t>(dense.ids.size() - 1), uniform(random, -2, 2)};
    };
    std::vector<std::shared_ptr<const lm::Model>> lms;
    for (size_t l = 0, count = random() % 3; l < count; ++l) {
      lms.push_back(random_lm(random));
      dense.lms.push_back({feature(numbered("lm", l))});
      dense.lm_unknown.push_back(feature(numbered("unknown", l)));
    }
    for (int k = 0; k < 3; ++k) dense.arity.push_back(feature(numbered("arity", k)));
    dense.words = feature("words");
    dense.source_words = feature("source-words");
    dense.rules = feature("rules");
    dense.glue = feature("glue");
    dense.pass_through = feature("pass-through");
    const auto rule_limit = static_cast<uint32_t>(random() % 3);
    const ChartOptions options = {15, rule_limit, true, false, 1'000'000, "X", "S", "Goal", true};
    const ChartDecoder decoder(options, dense, {random_grammar(random)}, lms, {}, names);
    Weights weights;
    for (const FeatureId id : dense.ids) {
      weights.set(id, static_cast<float>(uniform(random, -1, 1)));
    }
    weights.set(feature_id("p"), static_cast<float>(uniform(random, -1, 1)));
    const std::vector<std::string> words = random_words(random, "abcd", 6);

    // The same steps as ChartDecoder::decode().
    const ChartSentence sentence(decoder.model(), words, {}, "", nullptr);
    features::Memo memo(&weights);
    features::NameLog log;
    const ChartForest chart = parse(sentence, weights, {}, memo, log);
    ChartScorer scorer(sentence, chart.forest, weights, false, memo, log);
    const Expanded expanded = expand(chart.forest, edge_scores(chart.forest, weights), scorer,
                                     {10, kExpandLimit, /*merge_goal=*/true, /*eager=*/false});
    const Forest& forest = expanded.forest;
    const std::vector<double> recorded = edge_scores(forest, weights);
    for (size_t e = 0; e < recorded.size(); ++e, ++edges) {
      CHECK_NEAR(expanded.scores[e], recorded[e], 1e-5);
    }
    for (int i = 0; i < 10; ++i, ++derivations) {
      const Derivation derivation = random_derivation(random, forest, *forest.goal());
      const std::vector<int32_t> output = words_of(derivation);
      auto found = values_of(features_of(derivation));
      // The definitions: of the output, of the sentence, and of the shape of the derivation.
      std::map<uint32_t, double> expected;
      const auto count = [&](const features::Count& each, double number) {
        each.add(number,
                 features::Recorder{[&](uint32_t n, float value) { expected[n] += value; }});
      };
      const auto word = [&](int32_t w) { return std::string(forest.vocabulary()->word(w)); };
      for (size_t l = 0; l < lms.size(); ++l) {
        features::ValueSums log10{std::vector<double>(1)};
        const features::LanguageModel alone{{0, 1}, lms[l].get()};
        alone.sentence(
            output.size(), [&](size_t k) { return lms[l]->find(word(output[k])); }, log10);
        count(dense.lms[l], log10.values[0] * lm::kLn10);
        count(dense.lm_unknown[l],
              static_cast<double>(std::count_if(output.begin(), output.end(), [&](int32_t w) {
                return lms[l]->find(word(w)) == lm::kUnknown;
              })));
      }
      count(dense.words, static_cast<double>(output.size()));
      count(dense.source_words, static_cast<double>(words.size()));
      for (const uint32_t edge : derivation.edges) {
        const ForestView& a = forest.arrays();
        if (a.heads[edge] == *forest.goal()) continue;
        const size_t tails = forest.tails(edge).size();
        count(dense.rules, 1);
        count(dense.arity[tails], 1);
        if (a.rules[edge] != kNoRule) continue;
        if (tails == 2) count(dense.glue, 1);
        if (tails == 0) count(dense.pass_through, 1);
      }
      for (uint32_t n = 0; n < dense.ids.size(); ++n) {
        CHECK_NEAR(found[dense.ids[n]], expected[n], 1e-3);
      }
    }
  }
  CHECK(edges > 5000);
}

}  // namespace
}  // namespace hopefear::decode
