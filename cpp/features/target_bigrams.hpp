// Example of a stateful template, made to be copied: bigrams of the target, "NAME:first|second"
// for each pair of neighbours, with <s> and </s> at the ends. The value is how often.
//
// What a copy must see to: the state is all that later steps need (here the outermost words), it
// works for any number of tails, and the two ends of the sentence fire exactly once, whether the
// state grew from begin() or from the middle.
#pragma once

#include <memory>
#include <string>

#include "features/feature.hpp"

namespace hopefear::features {

std::shared_ptr<const Template> make_target_bigrams(std::string name);

}  // namespace hopefear::features
