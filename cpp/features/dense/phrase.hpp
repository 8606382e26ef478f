// The dense features of phrase search, and what each kind of phrase adds.
#pragma once

#include <vector>

#include "features/dense/jumps.hpp"
#include "features/dense/language_model.hpp"

namespace hopefear::features {

struct PhraseFeatures {
  std::vector<LanguageModel> lms;
  Columns translation;
  Count words;    // of the target side
  Count phrases;  // also those that are in no table
  Distortion distortion;
  Count unknown;  // words that were passed through
  Reordering reordering;

  // Wherever it is used, a phrase of the table with these translation scores …
  template <typename Out>
  void phrase(size_t target_words, std::span<const float> scores, Out&& out) const {
    phrases.add(1, out);
    words.add(static_cast<double>(target_words), out);
    translation.add(scores, out);
  }
  // … a translation that the input gives, with its share of translation.share() …
  template <typename Out>
  void given(size_t target_words, double share, Out&& out) const {
    phrase(target_words, {}, out);
    translation.add_shares(share, out);
  }
  // … and a word that is passed through.
  template <typename Out>
  void passed(Out&& out) const {
    phrase(1, {}, out);
    unknown.add(1, out);
  }
};

}  // namespace hopefear::features
