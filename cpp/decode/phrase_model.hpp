// What phrase search needs of a model: the table, language models, templates, and what the
// features are called. Made once, shared by all threads, never changed (but for what the cache of
// rankings remembers, which shows in no result).
//
// Dense features have numbers: language models, translation columns of the table, the four counts,
// reordering columns, in this order. A forest's local feature numbers begin with them.
#pragma once

#include <array>
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
#include "features/feature.hpp"
#include "lm/model.hpp"
#include "rules/rule_table.hpp"

namespace hopefear::decode {

// A feature that counts something; its value is `unit` for each. No name: there is no such feature.
struct CountFeature {
  std::string name;
  float unit = 1;
};

struct PhraseLm {
  std::shared_ptr<const lm::Model> model;
  std::string name;
  double unit = lm::kLn10;  // the feature's value for a log10 of 1: ln 10 makes natural logs of it
};

enum Count : uint32_t { kWords, kPhrases, kDistortion, kUnknownWords, kCounts };

struct PhraseSpec {
  std::vector<PhraseLm> lms;
  // Target words; phrases; source words jumped over; words that were passed through.
  std::array<CountFeature, kCounts> counts;
  features::Templates templates;
};

class PhraseModel {
 public:
  // InputError for a feature that occurs twice or has no name.
  PhraseModel(std::shared_ptr<const rules::RuleTable> table, PhraseSpec spec);

  const rules::RuleTable& table() const { return *table_; }
  std::span<const PhraseLm> lms() const { return spec_.lms; }
  const CountFeature& count(Count which) const { return spec_.counts[which]; }
  const features::Templates& templates() const { return spec_.templates; }

  // The table's target words, with the numbers that they have there.
  const std::shared_ptr<const Vocabulary>& vocabulary() const { return vocabulary_; }
  // A target word of the table in a language model.
  lm::WordId lm_word(size_t lm, rules::Symbol word) const { return lm_words_[lm][word]; }

  // Dense features.
  const std::vector<std::string>& names() const { return names_; }
  std::span<const FeatureId> ids() const { return ids_; }
  uint32_t lm_feature(size_t lm) const { return static_cast<uint32_t>(lm); }
  uint32_t translation_feature(size_t column) const {
    return static_cast<uint32_t>(spec_.lms.size() + column);
  }
  uint32_t count_feature(Count which) const { return count_features_[which]; }  // kNoFeature
  uint32_t reordering_feature(size_t column) const {
    return static_cast<uint32_t>(names_.size() - reordering_ + column);
  }
  static constexpr uint32_t kNoFeature = 0xffffffff;

  size_t translation_columns() const { return translation_; }
  uint32_t reordering_columns() const { return reordering_; }
  bool has_reordering() const { return reordering_ > 0; }
  bool has_forward() const { return reordering_ == 6; }

  // Stateful templates: where each one's bytes are in a state, and how many there are in all.
  struct Stateful {
    const features::Template* feature;  // owned by the model
    size_t offset;
  };
  std::span<const Stateful> stateful() const { return stateful_; }
  size_t state_size() const { return state_size_; }
  bool steps_need_use() const { return steps_need_use_; }  // any of them

  RankingCache& rankings() const { return rankings_; }
  // What `names` surely has; begins anew if another object is given. One thread at a time.
  std::shared_ptr<features::RecentNames> recent_names(
      const std::shared_ptr<FeatureNames>& names) const;

 private:
  uint32_t add_feature(const std::string& name);
  std::shared_ptr<const rules::RuleTable> table_;
  PhraseSpec spec_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::vector<std::vector<lm::WordId>> lm_words_;
  std::vector<std::string> names_;
  std::vector<FeatureId> ids_;
  std::array<uint32_t, kCounts> count_features_{};
  bool steps_need_use_ = false;
  // Owned: Python hands over another pointer to the same object each time, so a weak one would not
  // outlive the call, and all names would be new to every sentence.
  mutable std::shared_ptr<FeatureNames> names_of_recent_;
  mutable std::shared_ptr<features::RecentNames> recent_names_;
  size_t translation_ = 0;
  uint32_t reordering_ = 0;
  std::vector<Stateful> stateful_;
  size_t state_size_ = 0;
  mutable RankingCache rankings_;
};

// The states of templates at the beginning of a sentence: the model's state_size() bytes.
void begin_templates(const PhraseModel& model, std::byte* states);

// The weights of the dense features, gathered once per sentence; templates ask the table, and
// remember its answers.
class PhraseWeights {
 public:
  // Neither is owned. InputError for a weight that is not finite.
  PhraseWeights(const PhraseModel& model, const Weights& table);
  const Weights& table() const { return *table_; }
  features::Memo& memo() const { return memo_; }  // what the sinks of the sentence share
  std::span<const double> all() const { return dense_; }
  double lm(size_t lm) const { return dense_[model_->lm_feature(lm)]; }
  double translation(size_t column) const { return dense_[model_->translation_feature(column)]; }
  double reordering(size_t column) const { return dense_[model_->reordering_feature(column)]; }
  double one(Count which) const { return ones_[which]; }  // weight times unit; 0 if absent

 private:
  const PhraseModel* model_;
  const Weights* table_;
  mutable features::Memo memo_;
  std::vector<double> dense_;
  std::array<double, kCounts> ones_{};
};

}  // namespace hopefear::decode
