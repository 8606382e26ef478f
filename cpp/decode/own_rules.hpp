// The rules that a model has from one training pair only, to be left out when that pair itself is
// translated: learning from it would otherwise trust rules that no other sentence can use.
// [yu2013, section 4.2; wuebker2010]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/vocabulary.hpp"
#include "decode/reference_trie.hpp"
#include "rules/rule.hpp"

namespace hopefear::decode {

struct TrainingPair {
  std::vector<std::string> target;
  int64_t number = -1;  // among the pairs that the table was extracted from; -1: not known
};

class OwnRules {
 public:
  // No pair: it has none. The vocabulary is the sentence's; the target's words are added to it.
  OwnRules(const std::optional<TrainingPair>& pair, Vocabulary& vocabulary);

  // Of rules whose source side is in the sentence. One that was extracted from a single pair
  // belongs to that pair if both numbers are known; if one is not, it does if the target has it.
  bool has(const rules::RuleView& rule) const;

 private:
  std::optional<ReferenceTrie> target_;
  int64_t number_ = -1;
};

}  // namespace hopefear::decode
