#include "decode/own_rules.hpp"

namespace hopefear::decode {

OwnRules::OwnRules(const std::optional<TrainingPair>& pair, Vocabulary& vocabulary) {
  if (!pair.has_value()) return;
  std::vector<int32_t> words;
  for (const std::string& word : pair->target) words.push_back(vocabulary.intern(word));
  target_.emplace(std::vector<std::vector<int32_t>>{std::move(words)});
  number_ = pair->number;
}

bool OwnRules::has(const rules::RuleView& rule) const {
  if (!target_.has_value()) return false;
  const bool known = rule.sentence != rules::kManySentences;
  // Tables of other systems have counts only.
  if (!known && rule.counts.joint > 1) return false;
  if (known && number_ >= 0) return rule.sentence == static_cast<uint64_t>(number_);
  return target_->contains(rule.target);
}

}  // namespace hopefear::decode
