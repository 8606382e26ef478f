// Aligned word pairs in context: "NAME:left|c|f|e" where the source word f is linked to e and c
// stands to the left of f in the sentence, "NAME:right|f|c|e" where c stands to its right; <s> and
// </s> at the ends. Thesis, equation 3.14 [eidelman2013]; Chiang 2009, section 4 [chiang2009].
//
// c may lie outside of the rule, so this depends on the span, and for words between two
// nonterminals on where those lie. A rule that is in no table fires nothing.
#pragma once

#include <memory>
#include <string>

#include "features/feature.hpp"
#include "features/word_set.hpp"

namespace hopefear::features {

// What is told apart; everything else is <unk>.
struct ContextWords {
  bool everything = false;  // no lists
  bool by_pair = false;     // f and e are known together (`pairs`), or each for itself
  WordSet pairs;            // f and e
  WordSet source, target;   // c and, word for word, f; e
};

std::shared_ptr<const Template> make_word_context(std::string name, ContextWords known);

}  // namespace hopefear::features
