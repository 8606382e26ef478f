#include "decode/chart_grammar.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace hopefear::decode {

using rules::RuleTable;

ChartTable::ChartTable(std::shared_ptr<const RuleTable> table, Vocabulary& vocabulary,
                       const ChartOptions& options)
    : table_(std::move(table)), label_(vocabulary.intern(options.label)) {
  const auto number = [&](const rules::WordList& words, std::vector<int32_t>& out) {
    out.reserve(words.size());
    for (size_t i = 0; i < words.size(); ++i) {
      out.push_back(vocabulary.intern(words.word(static_cast<rules::Word>(i))));
    }
  };
  number(table_->target_words(), target_words_);
  number(table_->labels(), labels_);
  const rules::Columns& columns = table_->columns();
  for (size_t c = 0; c < columns.translation(); ++c) {
    columns_.push_back(feature_id(columns.names[c]));
  }
  const rules::WordList& sparse = table_->sparse_names();
  for (size_t i = 0; i < sparse.size(); ++i) {
    sparse_.push_back(feature_id(sparse.word(static_cast<rules::Word>(i))));
  }

  const RuleTable::Edges out = table_->edges(table_->root());
  for (size_t i = 0; i < out.symbols.size(); ++i) {
    if (!rules::is_nonterminal(out.symbols[i])) continue;
    const RuleTable::Range range = table_->rules(out.nodes[i]);
    if (range.size() == 0) continue;
    Unary unary = {label(rules::nonterminal(out.symbols[i])), out.nodes[i], {}};
    for (uint32_t r = range.begin; r < range.end; ++r) {
      unary.parents.push_back(head(table_->rule(r).label));
    }
    std::sort(unary.parents.begin(), unary.parents.end());
    unary.parents.erase(std::unique(unary.parents.begin(), unary.parents.end()),
                        unary.parents.end());
    unaries_.push_back(std::move(unary));
  }
  heads_ = labels_;
  if (std::find(heads_.begin(), heads_.end(), label_) == heads_.end()) heads_.push_back(label_);
}

Label ChartTable::label(rules::Symbol nonterminal) const {
  if (nonterminal >= labels_.size()) throw table_->file().damaged("a label is out of range");
  return labels_[nonterminal];
}

UnaryOrder::UnaryOrder(std::span<const ChartTable* const> tables, std::span<const Label> glued,
                       Label glue) {
  std::map<Label, std::set<Label>> parents;  // of the kept pairs
  const auto reaches = [&](Label from, Label to) {
    std::set<Label> seen = {from};
    std::vector<Label> open = {from};
    while (!open.empty()) {
      const Label label = open.back();
      open.pop_back();
      if (label == to) return true;
      for (const Label parent : parents[label]) {
        if (seen.insert(parent).second) open.push_back(parent);
      }
    }
    return false;
  };
  for (const Label label : glued) parents[label].insert(glue);
  for (uint32_t t = 0; t < tables.size(); ++t) {
    for (const ChartTable::Unary& unary : tables[t]->unaries()) {
      steps_.push_back({t, unary.node, unary.child});
      for (const Label parent : unary.parents) {
        if (parents[unary.child].contains(parent)) continue;
        if (reaches(parent, unary.child)) {
          dropped_.emplace_back(unary.child, parent);
        } else {
          parents[unary.child].insert(parent);
        }
      }
    }
  }
  std::sort(dropped_.begin(), dropped_.end());
  dropped_.erase(std::unique(dropped_.begin(), dropped_.end()), dropped_.end());

  // The longest path up from a label: parents come after all of their children.
  std::map<Label, int> height;
  const auto climb = [&](const auto& self, Label label) -> int {
    const auto found = height.find(label);
    if (found != height.end()) return found->second;
    int highest = 0;
    for (const Label parent : parents[label]) highest = std::max(highest, 1 + self(self, parent));
    return height[label] = highest;
  };
  for (const Step& step : steps_) climb(climb, step.child);
  std::stable_sort(steps_.begin(), steps_.end(),
                   [&](const Step& a, const Step& b) { return height[a.child] > height[b.child]; });
}

bool UnaryOrder::dropped(Label child, Label parent) const {
  return std::binary_search(dropped_.begin(), dropped_.end(), std::pair(child, parent));
}

}  // namespace hopefear::decode
