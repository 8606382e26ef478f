// How often the rule was seen in training: "NAME:2" for a bin of one number, "NAME:[4,5]" for one
// of several, "NAME:[101,)" beyond the last. Chiang 2009, section 4 [chiang2009]. A rule that is in
// no table, or in one without counts, fires nothing.
//
// Differs: counts may be fractions where extraction shares a count out; they are rounded up, so
// that what was seen less than once falls into the first bin.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "features/feature.hpp"

namespace hopefear::features {

// `bins`: the largest count of each bin, ascending from 1 or more.
std::shared_ptr<const Template> make_count_discount(std::string name, std::vector<int64_t> bins);

}  // namespace hopefear::features
