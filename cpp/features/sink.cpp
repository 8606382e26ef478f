#include "features/sink.hpp"

#include <algorithm>

namespace hopefear::features {

void NameLog::add_new(FeatureId id, std::string_view name) {
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

}  // namespace hopefear::features
