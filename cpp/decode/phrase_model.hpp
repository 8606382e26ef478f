// What phrase search needs of a model: the table, language models, templates, and what the
// features are called. Made once, shared by all threads, never changed (but for what the cache of
// rankings remembers, which shows in no result).
//
// Dense features have numbers: language models, translation columns of the table, the four counts,
// reordering columns, in this order. A forest's local feature numbers begin with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/vocabulary.hpp"
#include "base/weights.hpp"
#include "decode/phrase_ranking.hpp"
#include "features/dense/phrase.hpp"
#include "features/feature.hpp"
#include "lm/model.hpp"
#include "rules/rule_table.hpp"

namespace hopefear::decode {

struct PhraseLm {
  std::shared_ptr<const lm::Model> model;
  std::string name;
  double unit = lm::kLn10;  // the feature's value for a log10 of 1: ln 10 makes natural logs of it
};

// A feature that counts something; its value is `unit` for each. No name: there is no such feature.
struct CountSpec {
  std::string name;
  float unit = 1;
};

struct PhraseSpec {
  std::vector<PhraseLm> lms;
  CountSpec words, phrases, distortion, unknown;
  features::Templates templates;
};

class PhraseModel {
 public:
  // InputError for a feature that occurs twice or has no name.
  PhraseModel(std::shared_ptr<const rules::RuleTable> table, PhraseSpec spec);

  const rules::RuleTable& table() const { return *table_; }
  const features::PhraseFeatures& dense() const { return dense_; }
  std::span<const features::LanguageModel> lms() const { return dense_.lms; }
  const features::Templates& templates() const { return spec_.templates; }

  // The table's target words, with the numbers that they have there.
  const std::shared_ptr<const Vocabulary>& vocabulary() const { return vocabulary_; }
  // A target word of the table in a language model.
  lm::WordId lm_word(size_t lm, rules::Symbol word) const { return lm_words_[lm][word]; }

  // Dense features, by number.
  const std::vector<std::string>& names() const { return names_; }
  std::span<const FeatureId> ids() const { return ids_; }
  // Of the scores of a rule those of the translation columns, and those of the reordering columns.
  std::span<const float> translation(std::span<const float> scores) const {
    return scores.first(dense_.translation.numbers.size());
  }
  std::span<const float> reordering(std::span<const float> scores) const {
    return scores.last(dense_.reordering.columns);
  }

  // What a hypothesis remembers: the context in each language model (4 bytes), then the states of
  // templates. Where each stateful template has its bytes, and how many bytes there are in all.
  struct Stateful {
    const features::Template* feature;  // owned by the model
    size_t offset;
  };
  std::span<const Stateful> stateful() const { return stateful_; }
  size_t state_size() const { return state_size_; }
  bool steps_need_use() const { return steps_need_use_; }  // any of them
  void begin(std::byte* state) const;                      // of a sentence

  RankingCache& rankings() const { return rankings_; }
  // What `names` surely has; begins anew if another object is given. One thread at a time.
  std::shared_ptr<features::RecentNames> recent_names(
      const std::shared_ptr<FeatureNames>& names) const;

 private:
  uint32_t add_feature(const std::string& name);
  features::Count add_count(const CountSpec& spec);
  std::shared_ptr<const rules::RuleTable> table_;
  PhraseSpec spec_;
  features::PhraseFeatures dense_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::vector<std::vector<lm::WordId>> lm_words_;
  std::vector<std::string> names_;
  std::vector<FeatureId> ids_;
  bool steps_need_use_ = false;
  // Owned: Python hands over another pointer to the same object each time, so a weak one would not
  // outlive the call, and all names would be new to every sentence.
  mutable std::shared_ptr<FeatureNames> names_of_recent_;
  mutable std::shared_ptr<features::RecentNames> recent_names_;
  std::vector<Stateful> stateful_;
  size_t state_size_ = 0;
  mutable RankingCache rankings_;
};

// The weights of the dense features, gathered once per sentence; templates ask the table, and
// remember its answers.
class PhraseWeights {
 public:
  // Neither is owned. InputError for a weight that is not finite.
  PhraseWeights(const PhraseModel& model, const Weights& table);
  const Weights& table() const { return *table_; }
  features::Memo& memo() const { return memo_; }            // what the sinks of the sentence share
  std::span<const double> dense() const { return dense_; }  // by number

 private:
  const Weights* table_;
  mutable features::Memo memo_;
  std::vector<double> dense_;
};

}  // namespace hopefear::decode
