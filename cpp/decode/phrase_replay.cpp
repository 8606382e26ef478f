// Scores a derivation from its phrases alone. Deliberately naive and independent of search: this is
// the definition of the features of a derivation, with which tests compare search.
#include <algorithm>
#include <bit>
#include <stdexcept>

#include "base/error.hpp"
#include "decode/phrase_decoder.hpp"

namespace hopefear::decode {
namespace {

std::string text_of(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

class Replay {
 public:
  Replay(const PhraseModel& model, const PhraseInput& input, features::NameLog* log)
      : model_(model),
        input_(input),
        vocabulary_(std::make_shared<Vocabulary>(model.vocabulary())),
        own_(input.leave_out, *vocabulary_),
        dense_{std::vector<double>(model.names().size())},
        sink_(fired_, log),
        state_(model.state_size()),
        after_(model.state_size()) {
    for (const std::string& word : input.words) source_words_.push_back(vocabulary_->intern(word));
    for (const std::string& word : input.after) source_words_.push_back(vocabulary_->intern(word));
    for (const std::string& tag : input.tags) source_tags_.push_back(vocabulary_->intern(tag));
    source_ = {source_words_, vocabulary_.get(), source_tags_};
    covered_.assign(input.words.size(), 0);
    model.begin(state_.data());
  }

  // The features of templates only, for a derivation or a beginning of one.
  SparseVector sparse(std::span<const PhraseUse> phrases, bool complete) {
    for (const PhraseUse& phrase : phrases) add_phrase(phrase);
    if (complete) finish();
    dense_.values.assign(dense_.values.size(), 0);
    return vector();
  }

  SparseVector features(std::span<const PhraseUse> phrases) {
    const features::PhraseFeatures& dense = model_.dense();
    int32_t last_begin = 0, last_end = 0;
    features::OrientationScores last_forward{};
    for (const PhraseUse& phrase : phrases) {
      const auto gap =
          static_cast<int32_t>(std::find(covered_.begin(), covered_.end(), 0) - covered_.begin());
      const std::span<const float> scores = add_phrase(phrase);
      const features::Orientation by =
          features::orientation(last_begin, last_end, phrase.begin, phrase.end);
      dense.distortion.jump(last_end, gap, phrase.begin, phrase.end, dense_);
      dense.reordering.backward(scores, by, dense_);
      dense.reordering.forward(last_forward, by, dense_);
      last_forward = dense.reordering.forward_of(scores);
      last_begin = phrase.begin;
      last_end = phrase.end;
    }
    const auto missing = std::find(covered_.begin(), covered_.end(), 0);
    if (missing != covered_.end()) {
      throw InputError(input_.place() + "the derivation leaves word " +
                       std::to_string(missing - covered_.begin()) +
                       " untranslated, expected all of them");
    }
    finish();
    return vector();
  }

 private:
  void cover(const PhraseUse& phrase) {
    const auto length = static_cast<int32_t>(covered_.size());
    const bool inside = phrase.begin >= 0 && phrase.begin < phrase.end && phrase.end <= length;
    for (int32_t w = phrase.begin; inside && w < phrase.end; ++w) {
      if (covered_[static_cast<size_t>(w)]++ == 0) continue;
      throw InputError(input_.place() + "the derivation translates word " + std::to_string(w) +
                       " twice, expected once");
    }
    if (inside) return;
    throw InputError(input_.place() + "a phrase of the derivation is for words " +
                     std::to_string(phrase.begin) + " to " + std::to_string(phrase.end) + " of " +
                     std::to_string(length));
  }

  // Returns its reordering scores, empty if it has none.
  std::span<const float> add_phrase(const PhraseUse& phrase) {
    cover(phrase);
    target_.assign(1, -1);
    for (const std::string& word : phrase.target) target_.push_back(vocabulary_->intern(word));
    features::RuleUse use;
    use.source = &source_;
    use.span = {phrase.begin, phrase.end};
    use.source_side = source_.words.subspan(static_cast<size_t>(phrase.begin),
                                            static_cast<size_t>(phrase.end - phrase.begin));
    use.target_side = std::span(target_).subspan(1);
    use.rule = find_rule(phrase);
    std::span<const float> reordering;
    if (use.rule >= 0) {
      const rules::RuleView view = model_.table().rule(static_cast<uint32_t>(use.rule));
      use.links = view.links;
      use.scores = view.scores;
      use.counts = view.counts;
      model_.dense().phrase(phrase.target.size(), model_.translation(view.scores), dense_);
      reordering = model_.reordering(view.scores);
    } else {
      add_outside_table(phrase);
    }
    for (const auto& feature : model_.templates()) feature->fire(use, sink_);
    for (const PhraseModel::Stateful& s : model_.stateful()) {
      const std::byte* const before = state_.data() + s.offset;
      s.feature->step({&source_, &use, target_, {&before, 1}}, sink_, after_.data() + s.offset);
    }
    std::swap(state_, after_);
    output_.insert(output_.end(), phrase.target.begin(), phrase.target.end());
    return reordering;
  }

  // kPassThrough if the table does not have it.
  int64_t find_rule(const PhraseUse& phrase) {
    const rules::RuleTable& table = model_.table();
    rules::RuleTable::Node node = table.root();
    in_table_ = false;
    for (int32_t w = phrase.begin; w < phrase.end; ++w) {
      const rules::Word word = table.source_words().find(input_.words[static_cast<size_t>(w)]);
      node = word == rules::kNoWord ? rules::RuleTable::kNoNode : table.child(node, word);
      if (node == rules::RuleTable::kNoNode) return features::kPassThrough;
    }
    const rules::RuleTable::Range range = table.rules(node);
    for (uint32_t number = range.begin; number < range.end; ++number) {
      if (own_.has(table.rule(number))) continue;
      in_table_ = true;
      const auto target = table.rule(number).target;
      if (target.size() == phrase.target.size() &&
          std::equal(target.begin(), target.end(), phrase.target.begin(),
                     [&](rules::Symbol symbol, const std::string& word) {
                       return table.target_words().word(symbol) == word;
                     })) {
        return number;
      }
    }
    return features::kPassThrough;
  }

  void add_outside_table(const PhraseUse& phrase) {
    for (const ForcedPhrase& f : input_.forced) {
      if (f.begin != phrase.begin || f.end != phrase.end || f.target != phrase.target) continue;
      const features::PhraseFeatures& dense = model_.dense();
      dense.given(phrase.target.size(), dense.translation.share(f.log_probability), dense_);
      return;
    }
    const std::string& source = input_.words[static_cast<size_t>(phrase.begin)];
    const bool passed = phrase.end == phrase.begin + 1 && phrase.target.size() == 1 &&
                        phrase.target.front() == source && !in_table_;
    if (passed) {
      model_.dense().passed(dense_);
      return;
    }
    const std::span<const std::string> words(input_.words);
    const auto side = words.subspan(static_cast<size_t>(phrase.begin),
                                    static_cast<size_t>(phrase.end - phrase.begin));
    throw InputError(input_.place() + "the model has no phrase pair " + shown(text_of(side)) +
                     " -> " + shown(text_of(phrase.target)));
  }

  void finish() {
    for (size_t l = 0; l < model_.lms().size(); ++l) {
      const features::LanguageModel& lm = model_.lms()[l];
      lm.sentence(output_.size(), [&](size_t i) { return lm.model->find(output_[i]); }, dense_);
      for (const std::string& word : output_) {
        model_.dense().lm_unknown[l].add(lm.model->find(word) == lm::kUnknown, dense_);
      }
    }
    for (const PhraseModel::Stateful& s : model_.stateful()) {
      s.feature->finish(source_, state_.data() + s.offset, true, sink_);
    }
  }

  SparseVector vector() const {
    std::vector<FeatureId> ids;
    std::vector<float> values;
    for (size_t i = 0; i < dense_.values.size(); ++i) {
      if (dense_.values[i] == 0) continue;
      ids.push_back(model_.ids()[i]);
      values.push_back(static_cast<float>(dense_.values[i]));
    }
    for (const features::Fired& fired : fired_) {
      ids.push_back(fired.id);
      values.push_back(fired.value);
    }
    return SparseVector(ids, values);
  }

  const PhraseModel& model_;
  const PhraseInput& input_;
  std::shared_ptr<Vocabulary> vocabulary_;
  const OwnRules own_;
  std::vector<int32_t> source_words_, source_tags_, target_;
  features::Source source_;
  std::vector<char> covered_;
  features::ValueSums dense_;
  std::vector<features::Fired> fired_;
  features::Sink sink_;
  std::vector<std::byte> state_, after_;
  std::vector<std::string> output_;
  bool in_table_ = false;  // whether the table has the source side looked up last
};

}  // namespace

SparseVector score_derivation(const PhraseModel& model, const PhraseInput& input,
                              std::span<const PhraseUse> phrases, features::NameLog& log) {
  return Replay(model, input, &log).features(phrases);
}

namespace {

// The span of a phrase: the words that the head of an edge covers and its tail does not.
std::pair<int32_t, int32_t> span_between(const ForestView& a, uint32_t tail, uint32_t head) {
  int32_t begin = -1, end = -1;
  const uint32_t words = a.coverage_begin[head + 1] - a.coverage_begin[head];
  for (uint32_t i = 0; i < words; ++i) {
    const bool has = a.coverage_begin[tail] + i < a.coverage_begin[tail + 1];
    const uint64_t before = has ? a.coverage[a.coverage_begin[tail] + i] : 0;
    const uint64_t fresh = a.coverage[a.coverage_begin[head] + i] & ~before;
    if (fresh == 0) continue;
    const auto first = static_cast<int32_t>(64 * i);
    if (begin < 0) begin = first + std::countr_zero(fresh);
    end = first + 64 - std::countl_zero(fresh);
  }
  return {begin, end};
}

}  // namespace

SparseVector sparse_features(const PhraseModel& model, const PhraseInput& input,
                             const Forest& forest, std::span<const uint32_t> edges,
                             features::NameLog* log) {
  const ForestView& a = forest.arrays();
  std::vector<PhraseUse> phrases;
  bool complete = false;
  for (size_t i = edges.size(); i-- > 0;) {
    const uint32_t edge = edges[i];
    if (edge >= forest.edges()) throw std::out_of_range("edge index out of range");
    if (a.tail_begin[edge] == a.tail_begin[edge + 1]) continue;  // the start
    if (a.heads[edge] == forest.goal()) {
      complete = true;
      continue;
    }
    const auto [begin, end] = span_between(a, a.tails[a.tail_begin[edge]], a.heads[edge]);
    PhraseUse& phrase = phrases.emplace_back(PhraseUse{begin, end, {}});
    for (uint32_t t = a.target_begin[edge]; t < a.target_begin[edge + 1]; ++t) {
      if (a.target[t] >= 0) phrase.target.emplace_back(forest.vocabulary()->word(a.target[t]));
    }
  }
  return Replay(model, input, log).sparse(phrases, complete);
}

}  // namespace hopefear::decode
