#include "features/sink.hpp"

#include <algorithm>

namespace hopefear::features {

void NameLog::add_new(FeatureId id, std::string_view name) {
  if (only_wanted_ && !std::binary_search(wanted_.begin(), wanted_.end(), id)) return;
  if (seen_.add(id)) names_.emplace_back(name);
}

bool NameLog::has(FeatureId id) const {
  return (recent_ != nullptr && recent_->has(id)) || seen_.has(id);
}

void NameLog::move_to(FeatureNames& names) {
  for (const std::string& name : names_) {
    const FeatureId id = names.intern(name);
    if (recent_ != nullptr) recent_->add(id);
  }
  names_.clear();
  seen_.clear();
}

void NameLog::move_to(FeatureNames& names, std::span<const FeatureId> wanted) {
  std::erase_if(names_, [&](const std::string& name) {
    return !std::binary_search(wanted.begin(), wanted.end(), feature_id(name));
  });
  move_to(names);
}

void Sink::add_all(float value, const std::vector<PrefixHash>& prefixes,
                   const std::vector<std::string>& tails) {
  ids_.clear();
  for (size_t i = 0; i < tails.size(); ++i) {
    const PrefixHash& prefix = prefixes[i * prefixes.size() / tails.size()];
    const FeatureId id = prefix.hash(tails[i]);
    if (names_ != nullptr && !names_->has(id)) {
      name_ = prefix.prefix();
      name_ += tails[i];
      names_->add(id, name_);
    }
    ids_.push_back(id);
    if (record_ != nullptr) record_->push_back({id, value});
  }
  score_ += value * memo_->sum(ids_);
}

}  // namespace hopefear::features
