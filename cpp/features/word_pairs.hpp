// Aligned word pairs, "NAME:f|e" for each link of the rule's inner alignment. Thesis, equation 3.11
// [eidelman2013]. A rule that is in no table fires nothing.
#pragma once

#include <memory>
#include <string>

#include "features/feature.hpp"

namespace hopefear::features {

std::shared_ptr<const Template> make_word_pairs(std::string name);

}  // namespace hopefear::features
