#include "decode/own_rules.hpp"

#include <algorithm>

namespace hopefear::decode {

OwnRules::OwnRules(const std::optional<TrainingPair>& pair, Vocabulary& vocabulary) {
  if (!pair.has_value()) return;
  for (const std::string& word : pair->target) words_.push_back(vocabulary.intern(word));
  target_.emplace(std::vector<std::vector<int32_t>>{words_});
  number_ = pair->number;
}

std::optional<bool> OwnRules::by_number(const rules::RuleView& rule) const {
  if (!target_.has_value()) return false;
  const bool known = rule.sentence != rules::kManySentences;
  // Tables of other systems have counts only.
  if (!known && rule.counts.joint > 1) return false;
  if (known && number_ >= 0) return rule.sentence == static_cast<uint64_t>(number_);
  return std::nullopt;
}

bool OwnRules::has(const rules::RuleView& rule) const {
  const std::optional<bool> known = by_number(rule);
  return known.has_value() ? *known : target_->contains(rule.target);
}

bool OwnRules::has(const rules::RuleView& rule, std::span<const int32_t> target,
                   bool numbered) const {
  if (numbered && rule.sentence == rules::kManySentences) return false;
  const std::optional<bool> known = by_number(rule);
  return known.has_value() ? *known : contains(target);
}

// Each run of words at its first place after the run before it: if any places fit, these do.
bool OwnRules::contains(std::span<const int32_t> side) const {
  auto at = words_.begin();
  bool anywhere = true;  // the first run may begin at any word
  for (size_t begin = 0; begin < side.size();) {
    if (side[begin] < 0) {
      if (at == words_.end()) return false;
      ++at;
      ++begin;
      anywhere = true;
      continue;
    }
    size_t end = begin;
    while (end < side.size() && side[end] >= 0) ++end;
    const auto run = side.subspan(begin, end - begin);
    if (!anywhere) return false;
    at = std::search(at, words_.end(), run.begin(), run.end());
    if (at == words_.end()) return false;
    at += static_cast<std::ptrdiff_t>(run.size());
    anywhere = false;
    begin = end;
  }
  return true;
}

}  // namespace hopefear::decode
