#include "decode/chart_decoder.hpp"

#include "base/error.hpp"
#include "decode/chart_target.hpp"

namespace hopefear::decode {
namespace {

ChartDecoder::Output output_of(const ChartSentence& sentence, const ChartForest& chart) {
  ChartDecoder::Output output;
  output.span_limit = chart.span_limit;
  output.nodes = chart.forest.nodes();
  output.edges = chart.forest.edges();
  for (const auto& [child, parent] : sentence.unaries.dropped()) {
    std::string& rule = output.dropped.emplace_back("[");
    rule.append(sentence.vocabulary->word(parent)).append("] -> [");
    rule.append(sentence.vocabulary->word(child)).append("]");
  }
  return output;
}

// `place_scores`: scores of the features that parse() left out; empty if none.
void expand_into(ChartDecoder::Output& output, const ChartSentence& sentence, const Forest& forest,
                 std::span<const double> place_scores, const Weights& weights, size_t beam,
                 features::Memo& memo, features::NameLog& names) {
  std::vector<double> scores = edge_scores(forest, weights);
  for (size_t e = 0; e < place_scores.size(); ++e) scores[e] += place_scores[e];
  // An edge with its states takes about 150 bytes, so ten million of them are 1.5 GB.
  const size_t limit = sentence.model.options.edge_limit;
  // Every edge is scored before it is queued, as in cdec, whose main cost that is. Here a score
  // takes about 130 ns: with estimates instead (the score of the rule's words without context)
  // search takes 15 % less time, and its best score is below cdec's in 7 of 30 sentences instead of
  // none.
  ExpandOptions options{beam, limit, /*merge_goal=*/true, /*eager=*/true};
  while (true) {
    try {
      ChartScorer scorer(sentence, forest, weights, !place_scores.empty(), memo, names);
      Expanded expanded = expand(forest, scores, scorer, options);
      output.forest = std::move(expanded.forest);
      output.scored = expanded.scored;
      output.beam = options.beam;
      return;
    } catch (const ExpandLimit&) {
      if (options.beam > 1) {
        options.beam /= 2;
        continue;
      }
      throw InputError("sentence " + shown(sentence.id) + " of " + std::to_string(sentence.size()) +
                       " words: more than " + std::to_string(options.limit) +
                       " edges with the language model; search with cube pruning, or give a "
                       "larger edge limit");
    }
  }
}

}  // namespace

ChartDecoder::ChartDecoder(ChartOptions options, features::ChartFeatures dense,
                           std::vector<std::shared_ptr<const rules::RuleTable>> tables,
                           std::vector<std::shared_ptr<const lm::Model>> lms,
                           features::Templates templates, std::shared_ptr<FeatureNames> names) {
  model_.options = std::move(options);
  model_.dense = std::move(dense);
  model_.lms = std::move(lms);
  model_.templates = std::move(templates);
  if (!model_.templates.empty()) model_.recent_names = std::make_shared<features::RecentNames>();
  model_.vocabulary = std::make_shared<Vocabulary>();
  model_.names = std::move(names);
  for (auto& table : tables) {
    model_.tables.push_back(
        std::make_unique<ChartTable>(std::move(table), *model_.vocabulary, model_.options));
  }
  model_.vocabulary->intern(model_.options.label);
  model_.vocabulary->intern(model_.options.glue_label);
  model_.vocabulary->intern(model_.options.goal_label);
  for (size_t k = 0; k < model_.lms.size(); ++k) {
    const lm::Model* const lm = model_.lms[k].get();
    model_.dense.lms[k].model = lm;
    std::vector<lm::WordId>& words = model_.lm_words.emplace_back();
    words.reserve(static_cast<size_t>(model_.vocabulary->size()));
    for (int32_t w = 0; w < model_.vocabulary->size(); ++w) {
      words.push_back(lm->find(model_.vocabulary->word(w)));
    }
  }
}

ChartDecoder::Output ChartDecoder::parse(const Input& input, const Weights& weights,
                                         bool target_features, features::NameLog& names) const {
  const ChartSentence sentence(model_, input.words, input.tags, input.id, input.grammar,
                               input.leave_out);
  ParseOptions options;
  options.target_features = target_features;
  features::Memo memo(&weights);
  const ChartForest chart = decode::parse(sentence, weights, options, memo, names);
  Output output = output_of(sentence, chart);
  output.forest = chart.forest;
  return output;
}

ChartDecoder::Output ChartDecoder::decode(const Input& input, const Weights& weights, size_t beam,
                                          features::NameLog& names) const {
  const ChartSentence sentence(model_, input.words, input.tags, input.id, input.grammar,
                               input.leave_out);
  ParseOptions options;
  options.record_places = false;
  features::Memo memo(&weights);
  const ChartForest chart = decode::parse(sentence, weights, options, memo, names);
  Output output = output_of(sentence, chart);
  expand_into(output, sentence, chart.forest, chart.place_scores, weights, beam, memo, names);
  return output;
}

ChartDecoder::Output ChartDecoder::constrain(const Input& input, const Weights& weights,
                                             std::span<const std::string> target,
                                             features::NameLog& names) const {
  ChartSentence sentence(model_, input.words, input.tags, input.id, input.grammar, input.leave_out);
  std::vector<int32_t> words;
  for (const std::string& word : target) words.push_back(sentence.vocabulary->intern(word));
  sentence.number_lm_words();
  ParseOptions options;
  options.target = &words;
  features::Memo memo(&weights);
  const ChartForest chart = decode::parse(sentence, weights, options, memo, names);
  Output output = output_of(sentence, chart);
  const Forest matched = derivations_of(chart.forest, words);
  expand_into(output, sentence, matched, {}, weights, 0, memo, names);
  return output;
}

}  // namespace hopefear::decode
