// Which rule it is: "NAME:[1]_la_position_de_[2]|[1]_the_position_of_[2]". Thesis, equation 3.15
// [eidelman2013]. A rule that is in no table fires nothing.
#pragma once

#include <memory>
#include <string>

#include "features/feature.hpp"

namespace hopefear::features {

std::shared_ptr<const Template> make_rule_id(std::string name);

// Appends which rule it is to `text`: a separator, the source side, '|' and the target side.
void append_rule(const RuleUse& use, char separator, std::string& text);

}  // namespace hopefear::features
