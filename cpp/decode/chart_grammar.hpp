// The grammar of a chart: options, rule tables in the chart's numbering, and the order of unary
// rules.
//
// Nonterminals are labels. A label has the number that the vocabulary gives to its name, the same
// in all tables, and that number is the symbol of the forest's nodes. No label is special; rules
// without one get ChartOptions::label.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/sparse_vector.hpp"
#include "base/vocabulary.hpp"
#include "rules/rule_table.hpp"

namespace hopefear::decode {

using Label = int32_t;  // the number of its name in the vocabulary

struct ChartOptions {   // the defaults are in decode/chart.py
  int32_t span_limit;   // longest span of a rule, in words; glue has no limit
  uint32_t rule_limit;  // rules per source side, the best by weights; 0: all
  bool glue;
  bool pass_through_all;  // for every word, not only for those without a rule
  uint64_t edge_limit;    // of a forest before the language model
  std::string label;      // of untranslated words and of rules without a label
  std::string glue_label, goal_label;
  bool glue_all;  // glue joins constituents of all labels of the rules, not only of `label`
};

// A table with its words and labels numbered as in a vocabulary. Immutable, shared by threads.
class ChartTable {
 public:
  // Interns all target words and labels: O(words).
  ChartTable(std::shared_ptr<const rules::RuleTable> table, Vocabulary& vocabulary,
             const ChartOptions& options);

  const rules::RuleTable& rules() const { return *table_; }
  // Features of the columns, without reordering scores.
  const std::vector<FeatureId>& columns() const { return columns_; }
  FeatureId sparse(uint32_t number) const {
    return sparse_[number];
  }  // below sparse_names().size()
  int32_t target_word(rules::Symbol word) const { return target_words_[word]; }
  Label label(rules::Symbol nonterminal) const;  // of a source side; checked
  Label head(uint16_t label) const { return label == rules::kNoLabel ? label_ : labels_[label]; }

  // The rules whose source side is a single nonterminal with this label.
  struct Unary {
    Label child;
    rules::RuleTable::Node node;
    std::vector<Label> parents;  // ascending
  };
  const std::vector<Unary>& unaries() const { return unaries_; }
  // Left-hand sides, in the order of the table's labels.
  const std::vector<Label>& heads() const { return heads_; }

 private:
  std::shared_ptr<const rules::RuleTable> table_;
  Label label_;
  std::vector<int32_t> target_words_;
  std::vector<Label> labels_, heads_;
  std::vector<FeatureId> columns_, sparse_;
  std::vector<Unary> unaries_;
};

// The unary rules of several tables, ordered so that one pass applies all of them. A pair (child,
// parent) that would close a cycle is dropped; pairs are added in the order of the tables and their
// labels, those of glue first.
class UnaryOrder {
 public:
  UnaryOrder() = default;
  // `glued`: labels that glue rewrites to `glue`.
  UnaryOrder(std::span<const ChartTable* const> tables, std::span<const Label> glued, Label glue);

  struct Step {
    uint32_t table;
    rules::RuleTable::Node node;
    Label child;
  };
  const std::vector<Step>& steps() const { return steps_; }  // children before their parents
  bool dropped(Label child, Label parent) const;
  const std::vector<std::pair<Label, Label>>& dropped() const { return dropped_; }

 private:
  std::vector<Step> steps_;
  std::vector<std::pair<Label, Label>> dropped_;  // (child, parent), ascending
};

}  // namespace hopefear::decode
