// Leave-one-out: the rules that were extracted from a single training pair, to be excluded when
// that pair itself is translated. Learning would otherwise trust rules that no other sentence can
// use. [yu2013, section 4.2; wuebker2010]
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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
  // The same for a rule with the target side `target`, in numbers of the vocabulary and negative
  // numbers for nonterminals, each of which stands for a word or more. `numbered`: the table has
  // numbers of pairs, so that a rule without one comes from several pairs; counts of hierarchical
  // rules do not say so, since they are fractions.
  bool has(const rules::RuleView& rule, std::span<const int32_t> target, bool numbered) const;

 private:
  // Whether the numbers of the pairs say that it is a rule of this pair; nothing if they are
  // unknown.
  std::optional<bool> by_number(const rules::RuleView& rule) const;
  bool contains(std::span<const int32_t> side) const;
  std::vector<int32_t> words_;  // of the target
  std::optional<ReferenceTrie> target_;
  int64_t number_ = -1;
};

}  // namespace hopefear::decode
