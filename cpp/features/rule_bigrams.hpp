// Two rules in a row: "NAME:SOURCE|TARGET+SOURCE|TARGET", the earlier one first (phrase search); in
// chart parsing a rule and the one that fills a gap of it, the inner one first.  [yu2013]
#pragma once

#include <memory>
#include <string>

#include "features/feature.hpp"

namespace hopefear::features {

std::shared_ptr<const Template> make_rule_bigrams(std::string name);

}  // namespace hopefear::features
