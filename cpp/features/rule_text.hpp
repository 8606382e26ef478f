// The text of a rule as a part of feature names.
#pragma once

#include <string>

#include "features/feature.hpp"

namespace hopefear::features {

// Appends a separator, the source side, '|' and the target side: "[1]_la_position_de_[2]|…".
void append_rule(const RuleUse& use, char separator, std::string& text);

}  // namespace hopefear::features
