#include "decode/phrase_model.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace hopefear::decode {

PhraseModel::PhraseModel(std::shared_ptr<const rules::RuleTable> table, PhraseSpec spec)
    : table_(std::move(table)), spec_(std::move(spec)) {
  for (const PhraseLm& lm : spec_.lms) {
    dense_.lms.push_back({{add_feature(lm.name), lm.unit}, lm.model.get()});
  }
  const rules::Columns& columns = table_->columns();
  for (size_t c = 0; c < columns.translation(); ++c) {
    dense_.translation.numbers.push_back(add_feature(columns.names[c]));
  }
  dense_.words = add_count(spec_.words);
  dense_.phrases = add_count(spec_.phrases);
  dense_.distortion = {add_count(spec_.distortion), spec_.early_distortion};
  dense_.unknown = add_count(spec_.unknown);
  for (const PhraseLm& lm : spec_.lms) dense_.lm_unknown.push_back(add_count(lm.unknown));
  add_reordering(columns);

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
  state_size_ = spec_.lms.size() * features::LanguageModel::kContextSize;
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

void PhraseModel::add_reordering(const rules::Columns& columns) {
  const ReorderingSpec own = {features::kMsd, columns.reordering > 0, columns.reordering > 3, {}};
  const ReorderingSpec& spec = spec_.reordering ? *spec_.reordering : own;
  dense_.reordering = {static_cast<uint32_t>(names_.size()), spec.orientations, spec.backward,
                       spec.forward, !spec.collapsed.empty()};
  const features::Reordering& reordering = dense_.reordering;
  if (reordering.columns() != columns.reordering) {
    throw InputError("the rule table has " + std::to_string(columns.reordering) +
                     " reordering scores, the model needs " + std::to_string(reordering.columns()) +
                     "; make the model again");
  }
  if (reordering.collapsed && spec.collapsed.size() != reordering.directions()) {
    throw InputError("the model names " + std::to_string(spec.collapsed.size()) +
                     " reordering features, expected one for each of " +
                     std::to_string(reordering.directions()) + " directions");
  }
  for (const std::string& name : spec.collapsed) add_feature(name);
  if (reordering.collapsed) return;
  for (size_t c = columns.translation(); c < columns.size(); ++c) add_feature(columns.names[c]);
}

features::Count PhraseModel::add_count(const CountSpec& spec) {
  if (spec.name.empty()) return {};
  return {add_feature(spec.name), spec.unit};
}

void PhraseModel::begin(std::byte* state) const {
  for (size_t l = 0; l < lms().size(); ++l) {
    features::LanguageModel::put_context(lms()[l].model->begin(), state, l);
  }
  for (const Stateful& s : stateful_) s.feature->begin(state + s.offset);
}

PhraseWeights::PhraseWeights(const PhraseModel& model, const Weights& table)
    : table_(&table), memo_(&table) {
  for (size_t i = 0; i < model.ids().size(); ++i) {
    const double weight = table.get(model.ids()[i]);
    if (!std::isfinite(weight)) {
      throw InputError("the weight of " + shown(model.names()[i]) +
                       " is not a finite number; search needs one");
    }
    dense_.push_back(weight);
  }
}

}  // namespace hopefear::decode
