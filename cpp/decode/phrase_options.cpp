#include "decode/phrase_options.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/error.hpp"

namespace hopefear::decode {

features::RuleUse OptionTable::use(const PhraseOption& o) const {
  features::RuleUse use;
  use.source = &source_;
  use.span = {o.begin, o.end};
  use.source_side =
      source_.words.subspan(static_cast<size_t>(o.begin), static_cast<size_t>(o.end - o.begin));
  use.target_side = target(o);
  use.rule = o.rule;
  if (o.rule >= 0) {
    const rules::RuleView view = model_->table().rule(static_cast<uint32_t>(o.rule));
    use.links = view.links;
    use.scores = view.scores;
    use.counts = view.counts;
  }
  return use;
}

void OptionTable::step_templates(const PhraseOption& o, const std::byte* tail, features::Sink& sink,
                                 std::byte* after) const {
  features::RuleUse made;
  const features::RuleUse* seen = nullptr;
  if (model_->steps_need_use()) {
    made = use(o);
    seen = &made;
  }
  for (const PhraseModel::Stateful& s : model_->stateful()) {
    const std::byte* const state = tail + s.offset;
    s.feature->step({&source_, seen, edge_target(o), {&state, 1}}, sink, after + s.offset);
  }
}

class OptionCollector {
 public:
  OptionCollector(const PhraseModel& model, const PhraseWeights& weights, const PhraseInput& input,
                  size_t table_limit, features::NameLog* names, const TargetFilter* filter,
                  bool record)
      : model_(model),
        weights_(weights),
        input_(input),
        limit_(table_limit == 0 ? std::numeric_limits<size_t>::max() : table_limit),
        names_(names),
        filter_(filter),
        record_(record),
        length_(static_cast<int32_t>(input.words.size())),
        out_(std::make_unique<OptionTable>()) {
    // A log probability is at most 0, so without negative weights language models can only lower
    // the score of a phrase: a phrase that scores too low without them needs no look-up.
    for (size_t l = 0; l < model.lms().size(); ++l) {
      const auto weight = [&](const features::Count& feature) {
        return feature.present() ? weights.dense()[feature.number] * feature.unit : 0.0;
      };
      lm_only_lowers_ &= weight(model.lms()[l]) >= 0 && weight(model.dense().lm_unknown[l]) <= 0;
    }
    if (table_limit > 0) ranking_ = model.rankings().get(weights.dense(), table_limit);
  }

  std::unique_ptr<const OptionTable> collect() {
    find_forced();
    start();
    out_->ranges_.resize(input_.words.size() * static_cast<size_t>(out_->longest_));
    for (int32_t begin = 0; begin < length_; ++begin) collect_from(begin);
    fire();
    sort_spans();
    return std::move(out_);
  }

 private:
  struct Ranked {
    double score;
    uint32_t rule;
    bool operator<(const Ranked& other) const {  // better first; makes a heap with the worst on top
      return score != other.score ? score > other.score : rule < other.rule;
    }
  };

  void start() {
    OptionTable& t = *out_;
    t.model_ = &model_;
    t.lms_ = model_.lms().size();
    t.length_ = length_;
    t.vocabulary_ = filter_ != nullptr ? filter_->vocabulary
                                       : std::make_shared<Vocabulary>(model_.vocabulary());
    const rules::WordList& words = model_.table().source_words();
    for (const std::string& word : input_.words) {
      t.source_words_.push_back(t.vocabulary_->intern(word));
      symbols_.push_back(words.find(word));
    }
    for (const std::string& word : input_.after) {
      t.source_words_.push_back(t.vocabulary_->intern(word));
    }
    for (const std::string& tag : input_.tags) t.source_tags_.push_back(t.vocabulary_->intern(tag));
    t.source_ = {t.source_words_, t.vocabulary_.get(), t.source_tags_};
    own_.emplace(input_.leave_out, *t.vocabulary_);
    t.forward_.push_back({});
    t.weighted_forward_.push_back({});
    int32_t longest = static_cast<int32_t>(model_.table().layout().longest_source);
    for (const ForcedPhrase& f : input_.forced) longest = std::max(longest, f.end - f.begin);
    t.longest_ = std::clamp(longest, 1, std::max(1, length_));
  }

  void find_forced() {
    blocked_.assign(input_.words.size(), 0);
    for (const ForcedPhrase& f : input_.forced) {
      const std::string place = input_.place() + "the option for words " + std::to_string(f.begin) +
                                " to " + std::to_string(f.end);
      if (f.begin < 0 || f.end > length_ || f.begin >= f.end) {
        throw InputError(place + " is outside of its " + std::to_string(length_) +
                         " words; correct the markup");
      }
      if (!std::isfinite(f.log_probability)) {
        throw InputError(place + " has a probability that is not above 0; correct the markup");
      }
      if (!input_.exclusive) continue;
      for (const ForcedPhrase& other : input_.forced) {
        const bool same = other.begin == f.begin && other.end == f.end;
        if (!same && other.begin < f.end && f.begin < other.end) {
          throw InputError(place +
                           " overlaps another one; correct the markup or let the options be "
                           "inclusive");
        }
      }
      std::fill(blocked_.begin() + f.begin, blocked_.begin() + f.end, 1);
    }
  }

  void collect_from(int32_t begin) {
    const rules::RuleTable& table = model_.table();
    rules::RuleTable::Node node = table.root();
    bool in_table = true, single = false;
    for (int32_t end = begin + 1; end <= length_ && end - begin <= out_->longest_; ++end) {
      const auto place = static_cast<size_t>(end - 1);
      if (in_table) {
        node = symbols_[place] == rules::kNoWord ? rules::RuleTable::kNoNode
                                                 : table.child(node, symbols_[place]);
        in_table = node != rules::RuleTable::kNoNode;
      }
      const uint32_t first = out_->size();
      const bool blocked = std::any_of(blocked_.begin() + begin, blocked_.begin() + end,
                                       [](char b) { return b != 0; });
      if (in_table) {
        if (end == begin + 1) single = has_rules(table.rules(node));
        if (!blocked) add_rules(node, begin, end);
      }
      // If and only if the table has no rule for the word itself, even if longer phrases contain
      // it.
      if (end == begin + 1 && !single && !blocked) add_unknown(begin);
      for (const ForcedPhrase& f : input_.forced) {
        if (f.begin == begin && f.end == end) add_forced(f);
      }
      out_->ranges_[static_cast<size_t>(begin) * static_cast<size_t>(out_->longest_) +
                    static_cast<size_t>(end - begin - 1)] = {first, out_->size()};
    }
  }

  bool is_own(uint32_t rule) const {
    return input_.leave_out.has_value() && own_->has(model_.table().rule(rule));
  }

  // Whether any rule is not left out.
  bool has_rules(rules::RuleTable::Range range) const {
    for (uint32_t rule = range.begin; rule < range.end; ++rule) {
      if (!is_own(rule)) return true;
    }
    return false;
  }

  void add_rules(rules::RuleTable::Node node, int32_t begin, int32_t end) {
    const rules::RuleTable::Range range = model_.table().rules(node);
    if (range.size() <= limit_) {
      for (uint32_t rule = range.begin; rule < range.end; ++rule) add_rule(rule, begin, end);
      return;
    }
    if (!ranking_->find(node, best_)) {
      rank(range, end - begin, false);
      ranking_->add(node, best_);
    }
    if (std::any_of(best_.begin(), best_.end(), [&](uint32_t rule) { return is_own(rule); })) {
      rank(range, end - begin, true);  // of this sentence only
    }
    for (const uint32_t rule : best_) add_rule(rule, begin, end);
  }

  // A rule that was found by so many words: what its words and links say can be relied on, and
  // scores can be compared.
  rules::RuleView checked(uint32_t number, int32_t words) const {
    const rules::RuleView view = model_.table().rule(number);
    if (view.source_size != words || view.arity != 0) {
      throw model_.table().file().damaged("a rule is at a wrong node");
    }
    return view;
  }

  // Fills best_. A heap of the best rules so far, the worst of them on top.
  void rank(rules::RuleTable::Range range, int32_t words, bool leave_out) {
    ranked_.clear();
    for (uint32_t number = range.begin; number < range.end; ++number) {
      if (leave_out && is_own(number)) continue;
      const rules::RuleView view = checked(number, words);
      Ranked rule{row_score(view), number};
      if (ranked_.size() >= limit_) {
        const Ranked& worst = ranked_.front();
        if (!add_alone(view.target, lm_only_lowers_ ? &worst : nullptr, rule) || !(rule < worst)) {
          continue;
        }
        std::pop_heap(ranked_.begin(), ranked_.end());
        ranked_.pop_back();
      } else {
        add_alone(view.target, nullptr, rule);
      }
      ranked_.push_back(rule);
      std::push_heap(ranked_.begin(), ranked_.end());
    }
    std::sort(ranked_.begin(), ranked_.end());
    best_.clear();
    for (const Ranked& rule : ranked_) best_.push_back(rule.rule);
  }

  // Adds the language models of the phrase alone to a rule's score, word by word; false as soon as
  // it is worse than `worst`.
  bool add_alone(std::span<const rules::Symbol> target, const Ranked* worst, Ranked& rule) const {
    const auto is_worse = [&] { return worst != nullptr && !(rule < *worst); };
    if (is_worse()) return false;
    for (size_t l = 0; l < model_.lms().size(); ++l) {
      const features::LanguageModel& lm = model_.lms()[l];
      features::WeightedSum sum{weights_.dense(), rule.score};
      if (const features::Count& unknown = model_.dense().lm_unknown[l]; unknown.present()) {
        unknown.add(static_cast<double>(std::count_if(
                        target.begin(), target.end(),
                        [&](rules::Symbol w) { return model_.lm_word(l, w) == lm::kUnknown; })),
                    sum);
        rule.score = sum.score;
      }
      const auto word = [&](size_t i) { return model_.lm_word(l, target[i]); };
      const bool good = lm.for_words(target, word, [&](const lm::Scored& scored) {
        lm.add(scored.log10, sum);
        rule.score = sum.score;
        return !is_worse();
      });
      if (!good) return false;
    }
    return true;
  }

  double row_score(const rules::RuleView& view) const {
    features::WeightedSum sum{weights_.dense()};
    model_.dense().phrase(view.target.size(), model_.translation(view.scores), sum);
    return sum.score;
  }

  // Adds the option of a rule, unless it is left out.
  void add_rule(uint32_t number, int32_t begin, int32_t end) {
    if (filter_ != nullptr && !passes_filter(model_.table().target(number))) return;
    const rules::RuleView view = checked(number, end - begin);
    if (own_->has(view)) return;
    scratch_.assign(view.target.begin(), view.target.end());
    PhraseOption o;
    o.begin = begin;
    o.end = end;
    o.rule = number;
    const features::Reordering& reordering = model_.dense().reordering;
    const std::span<const float> scores = model_.reordering(view.scores);
    if (reordering.present()) {
      o.backward = weighted([&](features::Orientation by, features::WeightedSum& sum) {
        reordering.backward(scores, by, sum);
      });
    }
    if (reordering.has_forward()) o.forward = forward_class(reordering.forward_of(scores));
    add(o, [&](size_t l, size_t i) { return model_.lm_word(l, view.target[i]); });
  }

  void add_unknown(int32_t begin) {
    PhraseOption o;
    o.begin = begin;
    o.end = begin + 1;
    o.unknown = true;
    scratch_.assign(1, out_->source_words_[static_cast<size_t>(begin)]);
    add_text(o);
  }

  void add_forced(const ForcedPhrase& f) {
    PhraseOption o;
    o.begin = f.begin;
    o.end = f.end;
    o.share = static_cast<float>(model_.dense().translation.share(f.log_probability));
    scratch_.clear();
    for (const std::string& word : f.target) scratch_.push_back(out_->vocabulary_->intern(word));
    add_text(o);
  }

  template <typename Word>
  bool passes_filter(std::span<const Word> target) const {
    return filter_ == nullptr || filter_->references->contains(target);
  }

  // For words of the sentence's vocabulary, which must be looked up in language models by spelling.
  void add_text(const PhraseOption& o) {
    if (!passes_filter(std::span<const int32_t>(scratch_))) return;
    add(o, [&](size_t l, size_t i) {
      return model_.lms()[l].model->find(out_->vocabulary_->word(scratch_[i]));
    });
  }

  // An option whose words are in scratch_; `word(l, i)` is the i-th in language model l.
  template <typename Word>
  void add(PhraseOption o, Word&& word) {
    OptionTable& t = *out_;
    t.words_.push_back(-1);
    o.target = static_cast<uint32_t>(t.words_.size());
    o.target_size = static_cast<uint32_t>(scratch_.size());
    t.words_.insert(t.words_.end(), scratch_.begin(), scratch_.end());
    const size_t parts = t.lm_phrases_.size();
    for (size_t l = 0; l < t.lms_; ++l) {
      t.lm_phrases_.push_back(
          model_.lms()[l].phrase(scratch_.size(), [&](size_t i) { return word(l, i); }));
    }
    features::WeightedSum sum{weights_.dense()};
    t.add_dense(o, std::span(t.lm_phrases_).subspan(parts), sum);
    o.row = sum.score;
    for (size_t l = 0; l < t.lms_; ++l) {
      model_.lms()[l].alone(t.lm_phrases_[parts + l], sum);
    }
    o.estimate = sum.score;
    t.options_.push_back(o);
  }

  // The sums of add(orientation, sum) for each orientation.
  template <typename Add>
  WeightedOrientations weighted(Add&& add) const {
    WeightedOrientations scores;
    for (size_t by = 0; by < scores.size(); ++by) {
      features::WeightedSum sum{weights_.dense()};
      add(static_cast<features::Orientation>(by), sum);
      scores[by] = sum.score;
    }
    return scores;
  }

  uint32_t forward_class(const features::OrientationScores& scores) {
    if (scores == features::OrientationScores{}) return 0;
    uint64_t hash = 0;
    for (const float score : scores) hash = combine64(hash, std::bit_cast<uint32_t>(score));
    const auto [first, last] = classes_.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      if (out_->forward_[it->second] == scores) return it->second;
    }
    const auto number = static_cast<uint32_t>(out_->forward_.size());
    out_->forward_.push_back(scores);
    out_->weighted_forward_.push_back(
        weighted([&](features::Orientation by, features::WeightedSum& sum) {
          model_.dense().reordering.forward(scores, by, sum);
        }));
    classes_.emplace(hash, number);
    return number;
  }

  void fire() {
    OptionTable& t = *out_;
    if (model_.templates().empty()) return;
    features::Sink sink(weights_.memo(), record_ ? &t.fired_ : nullptr, names_);
    for (PhraseOption& o : t.options_) {
      const features::RuleUse use = t.use(o);
      sink.reset();
      o.fired = static_cast<uint32_t>(t.fired_.size());
      for (const auto& feature : model_.templates()) feature->fire(use, sink);
      const double score = sink.score();
      if (!std::isfinite(score)) {
        throw InputError(
            input_.place() +
            "a feature template fired a value that is not finite; correct the template");
      }
      o.fired_score = score;
      o.row += score;
      o.estimate += score;
      o.fired_size = static_cast<uint32_t>(t.fired_.size()) - o.fired;
    }
  }

  // Sorts the options of each span by estimate, best first; only options changed by forced options
  // and templates move.
  void sort_spans() {
    OptionTable& t = *out_;
    std::vector<uint32_t> order(t.size());
    for (uint32_t i = 0; i < t.size(); ++i) order[i] = i;
    bool moved = false;
    for (const OptionTable::Range& range : t.ranges_) {
      const auto better = [&](uint32_t a, uint32_t b) {
        return t.options_[a].estimate > t.options_[b].estimate;
      };
      if (std::is_sorted(order.begin() + range.begin, order.begin() + range.end, better)) continue;
      std::stable_sort(order.begin() + range.begin, order.begin() + range.end, better);
      moved = true;
    }
    if (!moved) return;
    std::vector<PhraseOption> options;
    std::vector<features::LmPhrase> parts;
    options.reserve(order.size());
    parts.reserve(t.lm_phrases_.size());
    for (const uint32_t i : order) {
      options.push_back(t.options_[i]);
      for (size_t l = 0; l < t.lms_; ++l) parts.push_back(t.lm_phrase(i, l));
    }
    t.options_ = std::move(options);
    t.lm_phrases_ = std::move(parts);
  }

  const PhraseModel& model_;
  const PhraseWeights& weights_;
  const PhraseInput& input_;
  const size_t limit_;
  features::NameLog* const names_;
  const TargetFilter* const filter_;
  const bool record_;
  const int32_t length_;
  bool lm_only_lowers_ = true;
  std::shared_ptr<Ranking> ranking_;
  std::unique_ptr<OptionTable> out_;
  std::optional<OwnRules> own_;         // constructed after the vocabulary
  std::vector<rules::Symbol> symbols_;  // source words in the table
  std::vector<char> blocked_;           // words that only forced options may cover
  std::vector<Ranked> ranked_;
  std::vector<uint32_t> best_;
  std::vector<int32_t> scratch_;
  std::unordered_multimap<uint64_t, uint32_t> classes_;
};

std::unique_ptr<const OptionTable> collect_options(const PhraseModel& model,
                                                   const PhraseWeights& weights,
                                                   const PhraseInput& input, size_t table_limit,
                                                   features::NameLog* names,
                                                   const TargetFilter* filter, bool record) {
  return OptionCollector(model, weights, input, table_limit, names, filter, record).collect();
}

void name_fired(const PhraseModel& model, const OptionTable& options, uint32_t option,
                features::Memo& memo, features::NameLog& names) {
  std::vector<features::Fired> again;
  features::Sink sink(memo, &again, &names);
  const features::RuleUse use = options.use(options.option(option));
  for (const auto& feature : model.templates()) feature->fire(use, sink);
}

}  // namespace hopefear::decode
