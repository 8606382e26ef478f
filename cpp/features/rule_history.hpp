// A rule with the last two target words before it, or the last one, at several levels of back-off:
// "NAME:LEVEL|SOURCE|TARGET|word|word".  [yu2013] Search must go from left to right.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "features/word_edges.hpp"

namespace hopefear::features {

// `levels`: of words, clusters and tags; `classes`: of target words.
std::shared_ptr<const Template> make_rule_history(std::string name, std::vector<Level> levels,
                                                  WordClasses classes);

}  // namespace hopefear::features
