// Example of a stateful template, made to be copied: bigrams of the target, "NAME:first|second"
// for each pair of neighbours, with <s> and </s> at the ends. The value is how often. Thesis,
// equation 3.13 [eidelman2013].
//
// What a copy must see to: the state is all that later steps need (here the outermost words), it
// works for any number of tails, and the two ends of the sentence fire exactly once, whether the
// state grew from begin() or from the middle. What a rule fires wherever it is used, here the pairs
// of its own words, belongs into fire(), which is not called in the inner loop of search.
#pragma once

#include <memory>
#include <string>

#include "features/feature.hpp"
#include "features/word_set.hpp"

namespace hopefear::features {

// `words`: those that are told apart, all others are <unk>; null: all.
std::shared_ptr<const Template> make_target_bigrams(std::string name,
                                                    std::unique_ptr<WordSet> words);

}  // namespace hopefear::features
