// A sentence on its way through the chart, and the rules that its source sides have.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/weights.hpp"
#include "decode/chart_grammar.hpp"
#include "features/dense/chart.hpp"
#include "features/feature.hpp"
#include "forest/builder.hpp"
#include "lm/model.hpp"

namespace hopefear::decode {

// What all sentences share. Immutable while sentences are decoded.
struct ChartModel {
  ChartOptions options;
  features::ChartFeatures dense;  // its language models are these
  std::vector<std::shared_ptr<const lm::Model>> lms;
  features::Templates templates;
  std::shared_ptr<Vocabulary> vocabulary;
  std::shared_ptr<FeatureNames> names;
  std::shared_ptr<features::RecentNames> recent_names;  // of these; null without templates
  std::vector<std::unique_ptr<const ChartTable>> tables;
  // For each language model its numbers of the vocabulary's words.
  std::vector<std::vector<lm::WordId>> lm_words;
};

struct ChartSentence {
  // `text_tags`: of the words, or empty. `grammar`: the sentence's own, may be null. Its words and
  // labels are numbered on top of the model's.
  ChartSentence(const ChartModel& model, std::span<const std::string> text,
                std::span<const std::string> text_tags, std::string id,
                std::shared_ptr<const rules::RuleTable> grammar);

  const ChartModel& model;
  std::string id;
  std::shared_ptr<Vocabulary> vocabulary;
  std::vector<int32_t> words, tags;
  std::vector<const ChartTable*> tables;
  std::vector<std::vector<rules::Symbol>> source;  // for each table: the words' numbers there
  Label label, glue_label, goal_label;
  std::vector<Label> glued;  // what S may be made of, ascending
  UnaryOrder unaries;
  int32_t size() const { return static_cast<int32_t>(words.size()); }

  lm::WordId lm_word(size_t model_number, int32_t word) const {
    const std::vector<lm::WordId>& base = model.lm_words[model_number];
    const auto w = static_cast<size_t>(word);
    return w < base.size() ? base[w] : own_lm_words_[model_number][w - base.size()];
  }
  // Numbers the words that came into the vocabulary after the constructor.
  void number_lm_words();

 private:
  std::unique_ptr<const ChartTable> grammar_;
  std::vector<std::vector<lm::WordId>> own_lm_words_;  // behind the model's
};

// Rules as edges need them, for each node of a trie that the chart reaches: found, limited and
// turned into rows once per sentence.
class ChartRules {
 public:
  struct Option {
    uint32_t table, rule;
    Label head;
    uint32_t target;  // where in targets
    uint8_t target_size, arity;
    uint32_t row;  // kNoRow until it is made
  };
  struct Range {
    uint32_t begin, end;
  };

  // Nothing is owned. `target`: only rules whose words occur in it, without limit. `whole`: with
  // the features of target words.
  ChartRules(const ChartSentence& sentence, const Weights& weights, ForestBuilder& builder,
             const std::vector<int32_t>* target, bool whole);

  // The rules at a node that was reached by so many symbols, so many of them nonterminals.
  Range at(uint32_t table, rules::RuleTable::Node node, size_t depth, size_t arity);
  // The dense features of a rule, in local numbers.
  void features(const Option& option, std::vector<FeatureEntry>& entries) const;
  // Of a rule that is in no table, with a feature of its own.
  void features(size_t arity, int32_t source_words, std::span<const int32_t> target,
                const features::Count& own, std::vector<FeatureEntry>& entries) const;
  const features::ChartFeatures& dense() const { return dense_; }  // but for language models

  std::vector<Option> options;
  std::span<const int32_t> target(const Option& option) const {
    return {targets_.data() + option.target, option.target_size};
  }

 private:
  Option option_of(uint32_t table, uint32_t rule, size_t depth, size_t arity);
  double score_of(const Option& option) const;
  std::span<const float> scores(const Option& option) const {
    const rules::RuleTable& table = sentence_.tables[option.table]->rules();
    return table.scores(option.rule).first(columns_[option.table].numbers.size());
  }
  bool occurs(std::span<const int32_t> side) const;

  const ChartSentence& sentence_;
  const std::vector<int32_t>* wanted_;
  bool whole_;
  const Weights& weights_;
  ForestBuilder& builder_;
  features::ChartFeatures dense_;           // with the builder's numbers
  std::vector<features::Columns> columns_;  // of each table, likewise
  std::vector<double> dense_weights_;  // by these numbers, those of language models behind them
  std::vector<int32_t> targets_;
  std::unordered_map<uint64_t, Range> known_;  // by table and node
  std::vector<std::pair<double, uint32_t>> ranked_;
};

}  // namespace hopefear::decode
