// How many words each nonterminal covers and whether the rule moves it: "NAME:reordered|4",
// "NAME:monotone|2". Thesis, equation 3.16 [eidelman2013]; Chiang 2009, section 4 [chiang2009]. It
// is reordered if it changes sides with another nonterminal or with a linked word of the rule.
#pragma once

#include <memory>
#include <string>

#include "features/feature.hpp"

namespace hopefear::features {

// Wider nonterminals count as `longest` words.
std::shared_ptr<const Template> make_structural_distortion(std::string name, int32_t longest);

}  // namespace hopefear::features
