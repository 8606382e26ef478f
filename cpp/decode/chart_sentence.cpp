#include "decode/chart_sentence.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace hopefear::decode {

using rules::RuleTable;
using rules::RuleView;

ChartSentence::ChartSentence(const ChartModel& m, std::span<const std::string> text,
                             std::span<const std::string> text_tags, std::string sentence_id,
                             std::shared_ptr<const rules::RuleTable> grammar,
                             const std::optional<TrainingPair>& leave_out)
    : model(m), id(std::move(sentence_id)), vocabulary(std::make_shared<Vocabulary>(m.vocabulary)) {
  for (const auto& table : model.tables) tables.push_back(table.get());
  if (grammar != nullptr) {
    grammar_ = std::make_unique<ChartTable>(std::move(grammar), *vocabulary, model.options);
    tables.push_back(grammar_.get());
  }
  for (const std::string& word : text) words.push_back(vocabulary->intern(word));
  for (const std::string& tag : text_tags) tags.push_back(vocabulary->intern(tag));
  for (const ChartTable* table : tables) {
    std::vector<rules::Symbol>& numbers = source.emplace_back();
    for (const std::string& word : text) {
      numbers.push_back(table->rules().source_words().find(word));
    }
  }
  label = vocabulary->intern(model.options.label);
  glue_label = vocabulary->intern(model.options.glue_label);
  goal_label = vocabulary->intern(model.options.goal_label);
  if (model.options.glue) {
    glued = {label};
    for (const ChartTable* table : tables) {
      if (!model.options.glue_all) break;
      glued.insert(glued.end(), table->heads().begin(), table->heads().end());
    }
    std::sort(glued.begin(), glued.end());
    glued.erase(std::unique(glued.begin(), glued.end()), glued.end());
    std::erase_if(glued, [&](Label l) { return l == glue_label || l == goal_label; });
  }
  unaries = UnaryOrder(tables, glued, glue_label);
  if (leave_out.has_value()) left_out.emplace(leave_out, *vocabulary);
  own_lm_words_.resize(model.lms.size());
  number_lm_words();
}

void ChartSentence::number_lm_words() {
  const int32_t all = vocabulary->size();
  for (size_t k = 0; k < model.lms.size(); ++k) {
    std::vector<lm::WordId>& own = own_lm_words_[k];
    const size_t base = model.lm_words[k].size();
    while (base + own.size() < static_cast<size_t>(all)) {
      const auto word = static_cast<int32_t>(base + own.size());
      own.push_back(model.lms[k]->find(vocabulary->word(word)));
    }
  }
}

ChartRules::ChartRules(const ChartSentence& sentence, const Weights& weights,
                       ForestBuilder& builder, const std::vector<int32_t>* target,
                       bool target_features)
    : sentence_(sentence),
      target_(target),
      target_features_(target_features),
      weights_(weights),
      builder_(builder),
      dense_(sentence.model.dense) {
  const auto number = [&](FeatureId id) {
    const uint32_t local = builder.feature(id);
    if (local == dense_weights_.size()) dense_weights_.push_back(weights.get(id));
    return local;
  };
  // The order of local numbers is the one in which features() writes, which spares sorting them.
  for (const ChartTable* table : sentence.tables) {
    features::Columns& columns = columns_.emplace_back();
    for (const FeatureId id : table->columns()) columns.numbers.push_back(number(id));
  }
  dense_.for_counts([&](features::Count& each) {
    if (each.present()) each.number = number(dense_.ids[each.number]);
  });
  for (features::LanguageModel& lm : dense_.lms) {
    if (!lm.present()) continue;
    dense_weights_.push_back(weights.get(dense_.ids[lm.number]));
    lm.number = static_cast<uint32_t>(dense_weights_.size() - 1);
  }
}

ChartRules::Range ChartRules::at(uint32_t table, RuleTable::Node node, size_t depth, size_t arity) {
  const auto [found, is_new] = known_.try_emplace(uint64_t{table} << 32 | node);
  if (!is_new) return found->second;
  const RuleTable::Range range = sentence_.tables[table]->rules().rules(node);
  const auto begin = static_cast<uint32_t>(options.size());
  for (uint32_t rule = range.begin; rule < range.end; ++rule) {
    const size_t targets = targets_.size();
    const Option option = option_of(table, rule, depth, arity);
    if (!is_own(option) && (target_ == nullptr || occurs(target(option)))) {
      options.push_back(option);
    } else {
      targets_.resize(targets);
    }
  }
  const uint32_t limit = sentence_.model.options.rule_limit;
  if (target_ == nullptr && limit > 0 && options.size() - begin > limit) {
    ranked_.clear();
    for (uint32_t i = begin; i < options.size(); ++i) ranked_.emplace_back(score_of(options[i]), i);
    std::stable_sort(ranked_.begin(), ranked_.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    ranked_.resize(limit);
    std::sort(ranked_.begin(), ranked_.end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });
    for (uint32_t i = 0; i < limit; ++i) options[begin + i] = options[ranked_[i].second];
    options.resize(begin + limit);
  }
  return found->second = {begin, static_cast<uint32_t>(options.size())};
}

bool ChartRules::has_word(uint32_t table, RuleTable::Node node) {
  const RuleTable::Range range = sentence_.tables[table]->rules().rules(node);
  if (!sentence_.left_out.has_value()) return range.size() > 0;
  const size_t targets = targets_.size();
  bool found = false;
  for (uint32_t rule = range.begin; rule < range.end && !found; ++rule) {
    found = !is_own(option_of(table, rule, 1, 0));
    targets_.resize(targets);
  }
  return found;
}

ChartRules::Option ChartRules::option_of(uint32_t table, uint32_t rule, size_t depth,
                                         size_t arity) {
  const ChartTable& from = *sentence_.tables[table];
  const RuleView view = from.rules().rule(rule);
  if (view.source_size != depth || view.arity != arity) {
    throw from.rules().file().damaged("a rule is at a wrong node");
  }
  Option option = {table,
                   rule,
                   from.head(view.label),
                   static_cast<uint32_t>(targets_.size()),
                   static_cast<uint8_t>(view.target.size()),
                   view.arity,
                   kNoRow};
  uint64_t slots = 0;
  bool good = arity <= 64;
  for (const rules::Symbol symbol : view.target) {
    if (rules::is_nonterminal(symbol)) {
      const uint32_t slot = rules::nonterminal(symbol);
      good = good && slot < arity && (slots >> slot & 1) == 0;
      slots |= uint64_t{1} << (slot & 63);
      targets_.push_back(-1 - static_cast<int32_t>(slot));
    } else {
      targets_.push_back(from.target_word(symbol));
    }
  }
  const uint64_t all = arity == 64 ? ~uint64_t{0} : (uint64_t{1} << (arity & 63)) - 1;
  if (!good || slots != all) {
    throw InputError(from.rules().file().path() + ": rule " + std::to_string(rule) +
                     ": its target side must have each nonterminal of the source side once; "
                     "correct the grammar");
  }
  return option;
}

// By dense features and language models; a nonterminal hides what comes before it.
double ChartRules::score_of(const Option& option) const {
  const ChartTable& table = *sentence_.tables[option.table];
  features::WeightedSum sum{dense_weights_};
  columns_[option.table].add(scores(option), sum);
  for (const rules::SparseScore& score : table.rules().sparse(option.rule)) {
    sum.score += weights_.get(table.sparse(score.feature)) * score.value;
  }
  const std::span<const int32_t> symbols = target(option);
  const auto words =
      std::count_if(symbols.begin(), symbols.end(), [](int32_t s) { return s >= 0; });
  dense_.words.add(static_cast<double>(words), sum);
  for (size_t k = 0; k < dense_.lms.size(); ++k) {
    const features::LanguageModel& lm = dense_.lms[k];
    if (!lm.present() || dense_weights_[lm.number] == 0) continue;
    float natural = 0;
    lm.for_words(
        symbols, [&](size_t i) { return sentence_.lm_word(k, symbols[i]); },
        [&](const lm::Scored& scored) {
          natural += scored.natural();
          return true;
        });
    lm.add(natural, sum);
  }
  return sum.score;
}

// Whether every run of words of a target side occurs in the target.
bool ChartRules::occurs(std::span<const int32_t> side) const {
  for (size_t begin = 0; begin < side.size();) {
    if (side[begin] < 0) {
      ++begin;
      continue;
    }
    size_t end = begin;
    while (end < side.size() && side[end] >= 0) ++end;
    const auto run = side.subspan(begin, end - begin);
    if (std::search(target_->begin(), target_->end(), run.begin(), run.end()) == target_->end()) {
      return false;
    }
    begin = end;
  }
  return true;
}

namespace {

auto recorder(std::vector<FeatureEntry>& entries) {
  return features::Recorder{[&](uint32_t number, float value) {
    if (value != 0) entries.push_back({number, value});
  }};
}

}  // namespace

void ChartRules::features(size_t arity, int32_t source_words, std::span<const int32_t> side,
                          const features::Count& own, std::vector<FeatureEntry>& entries) const {
  auto out = recorder(entries);
  dense_.source_side(arity, source_words, out);
  if (target_features_) {
    const auto knows = [&](size_t k, int32_t s) { return sentence_.lm_word(k, s) != lm::kUnknown; };
    dense_.target_side(side, knows, out);
  }
  own.add(1, out);
}

void ChartRules::features(const Option& option, std::vector<FeatureEntry>& entries) const {
  const ChartTable& table = *sentence_.tables[option.table];
  columns_[option.table].add(scores(option), recorder(entries));
  for (const rules::SparseScore& score : table.rules().sparse(option.rule)) {
    entries.push_back({builder_.feature(table.sparse(score.feature)), score.value});
  }
  const int32_t source_words = table.rules().rule(option.rule).source_size - option.arity;
  features(option.arity, source_words, target(option), {}, entries);
}

}  // namespace hopefear::decode
