// A sentence in the chart's numbering, and the rules that match it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/weights.hpp"
#include "decode/chart_grammar.hpp"
#include "decode/own_rules.hpp"
#include "features/dense/chart.hpp"
#include "features/feature.hpp"
#include "forest/builder.hpp"
#include "lm/model.hpp"

namespace hopefear::decode {

// The model that all sentences share. Immutable while sentences are decoded.
struct ChartModel {
  ChartOptions options;
  features::ChartFeatures dense;  // its language models are `lms`
  std::vector<std::shared_ptr<const lm::Model>> lms;
  features::Templates templates;
  std::shared_ptr<Vocabulary> vocabulary;
  std::shared_ptr<FeatureNames> names;
  std::shared_ptr<features::RecentNames> recent_names;  // of `names`; null without templates
  std::vector<std::unique_ptr<const ChartTable>> tables;
  // Per language model: its word number of each word of the vocabulary.
  std::vector<std::vector<lm::WordId>> lm_words;
};

struct ChartSentence {
  // `text_tags`: one per word, or empty. `grammar`: of this sentence only, may be null; its new
  // words and labels are numbered after the model's. `leave_out`: leave out the rules that were
  // extracted from this pair only.
  ChartSentence(const ChartModel& model, std::span<const std::string> text,
                std::span<const std::string> text_tags, std::string id,
                std::shared_ptr<const rules::RuleTable> grammar,
                const std::optional<TrainingPair>& leave_out = {});

  const ChartModel& model;
  std::string id;
  std::shared_ptr<Vocabulary> vocabulary;
  std::vector<int32_t> words, tags;
  std::vector<const ChartTable*> tables;
  std::vector<std::vector<rules::Symbol>> source;  // per table: the words' numbers in it
  Label label, glue_label, goal_label;
  std::vector<Label> glued;  // labels that glue rewrites, ascending
  UnaryOrder unaries;
  std::optional<OwnRules> left_out;
  int32_t size() const { return static_cast<int32_t>(words.size()); }

  lm::WordId lm_word(size_t model_number, int32_t word) const {
    const std::vector<lm::WordId>& base = model.lm_words[model_number];
    const auto w = static_cast<size_t>(word);
    return w < base.size() ? base[w] : own_lm_words_[model_number][w - base.size()];
  }
  // Numbers the words added to the vocabulary after construction.
  void number_lm_words();

 private:
  std::unique_ptr<const ChartTable> grammar_;
  std::vector<std::vector<lm::WordId>> own_lm_words_;  // of words after the model's
};

// The rules at each trie node that the chart reaches: looked up, limited and turned into feature
// rows once per sentence.
class ChartRules {
 public:
  struct Option {
    uint32_t table, rule;
    Label head;
    uint32_t target;  // offset in targets_
    uint8_t target_size, arity;
    uint32_t row;  // kNoRow until it is made
  };
  struct Range {
    uint32_t begin, end;
  };

  // Owns nothing. `target`: if not null, only rules whose words occur in it, without limit.
  // `target_features`: as in ParseOptions.
  ChartRules(const ChartSentence& sentence, const Weights& weights, ForestBuilder& builder,
             const std::vector<int32_t>* target, bool target_features);

  // The rules at a node that was reached by `depth` symbols, `arity` of them nonterminals.
  Range at(uint32_t table, rules::RuleTable::Node node, size_t depth, size_t arity);
  // Whether the table translates a word by itself, with rules that are not left out.
  bool has_word(uint32_t table, rules::RuleTable::Node node);
  // Appends the dense features of a rule, by local number.
  void features(const Option& option, std::vector<FeatureEntry>& entries) const;
  // The same for a rule that is in no table, with the feature `own`.
  void features(size_t arity, int32_t source_words, std::span<const int32_t> target,
                const features::Count& own, std::vector<FeatureEntry>& entries) const;
  const features::ChartFeatures& dense() const { return dense_; }  // without language models

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
  bool is_own(const Option& option) const {
    if (!sentence_.left_out.has_value()) return false;
    const rules::RuleTable& table = sentence_.tables[option.table]->rules();
    return sentence_.left_out->has(table.rule(option.rule), target(option),
                                   table.layout().one_sentence > 0);
  }

  const ChartSentence& sentence_;
  const std::vector<int32_t>* target_;
  bool target_features_;
  const Weights& weights_;
  ForestBuilder& builder_;
  features::ChartFeatures dense_;           // with the builder's feature numbers
  std::vector<features::Columns> columns_;  // per table, likewise
  std::vector<double> dense_weights_;  // by these numbers, followed by those of language models
  std::vector<int32_t> targets_;
  std::unordered_map<uint64_t, Range> known_;  // by table and node
  std::vector<std::pair<double, uint32_t>> ranked_;
};

}  // namespace hopefear::decode
