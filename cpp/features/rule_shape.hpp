// Words and nonterminals of the two sides, "NAME:01110|11010" with 1 for a word and 0 for a
// nonterminal. Thesis, equation 3.17 [eidelman2013]. A rule that is in no table fires nothing.
#pragma once

#include <memory>
#include <string>

#include "features/feature.hpp"

namespace hopefear::features {

// `runs`: words in a row are one 1.
std::shared_ptr<const Template> make_rule_shape(std::string name, bool runs);

}  // namespace hopefear::features
