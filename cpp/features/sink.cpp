#include "features/sink.hpp"

namespace hopefear::features {

void NameLog::add_new(FeatureId id, std::string_view name) {
  if (2 * (names_.size() + 1) > seen_.size()) {
    std::vector<FeatureId> old(seen_.empty() ? 64 : 2 * seen_.size());
    old.swap(seen_);
    for (const FeatureId known : old) {
      if (known == 0) continue;
      size_t slot = known & (seen_.size() - 1);
      while (seen_[slot] != 0) slot = (slot + 1) & (seen_.size() - 1);
      seen_[slot] = known;
    }
  }
  size_t slot = id & (seen_.size() - 1);
  for (; seen_[slot] != 0; slot = (slot + 1) & (seen_.size() - 1)) {
    if (seen_[slot] == id) return;
  }
  seen_[slot] = id;
  names_.emplace_back(name);
}

void NameLog::move_to(FeatureNames& names) {
  for (const std::string& name : names_) {
    const FeatureId id = names.intern(name);
    if (recent_ != nullptr) recent_->add(id);
  }
  names_.clear();
  seen_.clear();
}

}  // namespace hopefear::features
