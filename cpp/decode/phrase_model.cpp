#include "decode/phrase_model.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace hopefear::decode {

PhraseModel::PhraseModel(std::shared_ptr<const rules::RuleTable> table, PhraseSpec spec)
    : table_(std::move(table)), spec_(std::move(spec)) {
  const rules::Columns& columns = table_->columns();
  translation_ = columns.translation();
  reordering_ = columns.reordering;
  for (const PhraseLm& lm : spec_.lms) add_feature(lm.name);
  for (size_t c = 0; c < translation_; ++c) add_feature(columns.names[c]);
  for (size_t i = 0; i < kCounts; ++i) {
    const std::string& name = spec_.counts[i].name;
    count_features_[i] = name.empty() ? kNoFeature : add_feature(name);
  }
  for (size_t c = translation_; c < columns.size(); ++c) add_feature(columns.names[c]);

  const rules::WordList& words = table_->target_words();
  auto vocabulary = std::make_shared<Vocabulary>();
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words.word(static_cast<rules::Word>(i));
    if (word.empty() || vocabulary->intern(word) != static_cast<int32_t>(i)) {
      throw table_->file().damaged("its target words are not in order");
    }
  }
  vocabulary_ = std::move(vocabulary);
  for (const PhraseLm& lm : spec_.lms) {
    std::vector<lm::WordId>& ids = lm_words_.emplace_back(words.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      ids[i] = lm.model->find(words.word(static_cast<rules::Word>(i)));
    }
  }
  for (const auto& feature : spec_.templates) {
    const size_t size = feature->state_size();
    if (size == 0) continue;
    stateful_.push_back({feature.get(), state_size_});
    state_size_ += size;
    steps_need_use_ |= feature->needs_use();
  }
}

std::shared_ptr<features::RecentNames> PhraseModel::recent_names(
    const std::shared_ptr<FeatureNames>& names) const {
  if (spec_.templates.empty()) return nullptr;
  if (recent_names_ == nullptr || names_of_recent_ != names) {
    recent_names_ = std::make_shared<features::RecentNames>();
    names_of_recent_ = names;
  }
  return recent_names_;
}

uint32_t PhraseModel::add_feature(const std::string& name) {
  if (name.empty()) throw InputError("a feature of the model has no name; give it one");
  if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
    throw InputError("two features of the model are called " + shown(name) +
                     "; give each a name of its own");
  }
  names_.push_back(name);
  ids_.push_back(feature_id(name));
  return static_cast<uint32_t>(names_.size() - 1);
}

void begin_templates(const PhraseModel& model, std::byte* states) {
  for (const PhraseModel::Stateful& s : model.stateful()) s.feature->begin(states + s.offset);
}

PhraseWeights::PhraseWeights(const PhraseModel& model, const Weights& table)
    : model_(&model), table_(&table), memo_(&table) {
  for (size_t i = 0; i < model.ids().size(); ++i) {
    const double weight = table.get(model.ids()[i]);
    if (!std::isfinite(weight)) {
      throw InputError("the weight of " + shown(model.names()[i]) +
                       " is not a finite number; search needs one");
    }
    dense_.push_back(weight);
  }
  for (uint32_t i = 0; i < kCounts; ++i) {
    const uint32_t feature = model.count_feature(static_cast<Count>(i));
    if (feature == PhraseModel::kNoFeature) continue;
    ones_[i] = dense_[feature] * model.count(static_cast<Count>(i)).unit;
  }
}

}  // namespace hopefear::decode
