// Source words that are linked to no target word, "NAME:f" each. Thesis, 3.4.3 [eidelman2013]. A
// rule that is in no table fires nothing.
#pragma once

#include <memory>
#include <string>

#include "features/feature.hpp"
#include "features/word_set.hpp"

namespace hopefear::features {

// `words`: those that fire; null: all.
std::shared_ptr<const Template> make_deletion(std::string name, std::unique_ptr<WordSet> words);

}  // namespace hopefear::features
