// Target words that are linked to no source word: "NAME:e|f" with every source word f of the rule,
// or "NAME:e" alone. Thesis, equation 3.12 [eidelman2013]; Chiang 2009, section 4 [chiang2009]. A
// rule that is in no table fires nothing.
#pragma once

#include <memory>
#include <string>

#include "features/feature.hpp"
#include "features/word_set.hpp"

namespace hopefear::features {

// `words`: those that fire; null: all.
std::shared_ptr<const Template> make_insertion(std::string name, std::unique_ptr<WordSet> words,
                                               bool with_source);

}  // namespace hopefear::features
