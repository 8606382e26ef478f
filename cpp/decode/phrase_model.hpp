// The model of phrase search: table, language models, templates and feature names. Constructed
// once, shared by all threads, immutable (except for the cache of rankings, which does not affect
// results).
//
// Dense features have numbers: language models, translation columns of the table, the four counts,
// counts of words that a language model lacks, reordering features, in this order. A forest's local
// feature numbers begin with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

// A feature whose value is `unit` times a count. An empty name: the model has no such feature.
struct CountSpec {
  std::string name;
  float unit = 1;
};

struct PhraseLm {
  std::shared_ptr<const lm::Model> model;
  std::string name;
  double unit = lm::kLn10;  // the feature's value per unit of log10: ln 10 makes it a natural log
  CountSpec unknown = {};   // a feature that counts the words that the model lacks
};

// The meaning of a table's reordering columns.
struct ReorderingSpec {
  features::Orientations orientations = features::kMsd;
  bool backward = false, forward = false;
  // One feature per direction; empty: the columns are the features.
  std::vector<std::string> collapsed = {};
};

struct PhraseSpec {
  std::vector<PhraseLm> lms;
  CountSpec words, phrases, distortion, unknown;
  bool early_distortion = false;  // see features::Distortion
  // Absent: that of our tables, three backward (mono, swap, other) and perhaps three forward
  // scores.
  std::optional<ReorderingSpec> reordering = {};
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

  // The table's target words, with the table's numbers.
  const std::shared_ptr<const Vocabulary>& vocabulary() const { return vocabulary_; }
  // The number in a language model of a target word of the table.
  lm::WordId lm_word(size_t lm, rules::Symbol word) const { return lm_words_[lm][word]; }

  // Dense features, by number.
  const std::vector<std::string>& names() const { return names_; }
  std::span<const FeatureId> ids() const { return ids_; }
  // The parts of a rule's scores: translation columns and reordering columns.
  std::span<const float> translation(std::span<const float> scores) const {
    return scores.first(dense_.translation.numbers.size());
  }
  std::span<const float> reordering(std::span<const float> scores) const {
    return scores.last(dense_.reordering.columns());
  }

  // The state of a hypothesis: the context in each language model (4 bytes each), then the states
  // of templates. `offset`: where a template's state begins; state_size(): total number of bytes.
  struct Stateful {
    const features::Template* feature;  // owned by the model
    size_t offset;
  };
  std::span<const Stateful> stateful() const { return stateful_; }
  size_t state_size() const { return state_size_; }
  bool steps_need_use() const { return steps_need_use_; }  // whether any template does
  void begin(std::byte* state) const;  // writes the state at the beginning of a sentence

  RankingCache& rankings() const { return rankings_; }
  // A cache of names known to be in `names`; replaced if another object is passed. For one thread
  // at a time.
  std::shared_ptr<features::RecentNames> recent_names(
      const std::shared_ptr<FeatureNames>& names) const;

 private:
  uint32_t add_feature(const std::string& name);
  features::Count add_count(const CountSpec& spec);
  void add_reordering(const rules::Columns& columns);
  std::shared_ptr<const rules::RuleTable> table_;
  PhraseSpec spec_;
  features::PhraseFeatures dense_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::vector<std::vector<lm::WordId>> lm_words_;
  std::vector<std::string> names_;
  std::vector<FeatureId> ids_;
  bool steps_need_use_ = false;
  // Owned: Python passes another shared_ptr to the same object in each call, so a weak_ptr would
  // expire with the call and every sentence would start with an empty cache.
  mutable std::shared_ptr<FeatureNames> names_of_recent_;
  mutable std::shared_ptr<features::RecentNames> recent_names_;
  std::vector<Stateful> stateful_;
  size_t state_size_ = 0;
  mutable RankingCache rankings_;
};

// The weights of a sentence: those of dense features, gathered once, and the table with a cache
// (memo) for templates.
class PhraseWeights {
 public:
  // Owns neither argument. InputError for a weight that is not finite.
  PhraseWeights(const PhraseModel& model, const Weights& table);
  const Weights& table() const { return *table_; }
  features::Memo& memo() const { return memo_; }            // shared by the sinks of the sentence
  std::span<const double> dense() const { return dense_; }  // by number

 private:
  const Weights* table_;
  mutable features::Memo memo_;
  std::vector<double> dense_;
};

}  // namespace hopefear::decode
