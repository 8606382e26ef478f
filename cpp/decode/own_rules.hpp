// Leave-one-out: the rules that were extracted from a single training pair, to be excluded when
// that pair itself is translated. Learning would otherwise trust rules that no other sentence can
// use. [yu2013, section 4.2; wuebker2010]
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
  int64_t number = -1;  // its index among the pairs that the table was extracted from; -1: unknown
};

class OwnRules {
 public:
  // Without a pair there are no such rules. `vocabulary`: of the sentence; the target's words are
  // added to it.
  OwnRules(const std::optional<TrainingPair>& pair, Vocabulary& vocabulary);

  // Whether a rule, whose source side occurs in the sentence, was extracted from this pair only:
  // compares the numbers of the pairs; if one is unknown, whether the rule's target side occurs in
  // the target.
  bool has(const rules::RuleView& rule) const;

 private:
  std::optional<ReferenceTrie> target_;
  int64_t number_ = -1;
};

}  // namespace hopefear::decode
