#include "features/sink.hpp"

#include <algorithm>

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

bool NameLog::has(FeatureId id) const {
  if (recent_ != nullptr && recent_->has(id)) return true;
  if (seen_.empty()) return false;
  size_t slot = id & (seen_.size() - 1);
  while (seen_[slot] != 0 && seen_[slot] != id) slot = (slot + 1) & (seen_.size() - 1);
  return seen_[slot] == id && id != 0;
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

void Memo::grow() {
  std::vector<Entry> old(slots_.empty() ? 1024 : 2 * slots_.size());
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Entry& entry : old) {
    if (entry.key == 0) continue;
    size_t slot = entry.key & mask;
    while (slots_[slot].key != 0) slot = (slot + 1) & mask;
    slots_[slot] = entry;
  }
}

}  // namespace hopefear::features
