// The dense features of phrase search, and the contributions of each kind of phrase.
#pragma once

#include <vector>

#include "features/dense/jumps.hpp"
#include "features/dense/language_model.hpp"

namespace hopefear::features {

struct PhraseFeatures {
  std::vector<LanguageModel> lms;
  std::vector<Count> lm_unknown;  // per language model: unknown words
  Columns translation;
  Count words;    // of the target side
  Count phrases;  // including those that are in no table
  Distortion distortion;
  Count unknown;  // untranslated words
  Reordering reordering;

  // The context-free features of a phrase of the table with these translation scores …
  template <typename Out>
  void phrase(size_t target_words, std::span<const float> scores, Out&& out) const {
    phrases.add(1, out);
    words.add(static_cast<double>(target_words), out);
    translation.add(scores, out);
  }
  // … of a translation that the input prescribes, with the value of translation.share() …
  template <typename Out>
  void given(size_t target_words, double share, Out&& out) const {
    phrase(target_words, {}, out);
    translation.add_shares(share, out);
  }
  // … and of an untranslated word.
  template <typename Out>
  void passed(Out&& out) const {
    phrase(1, {}, out);
    unknown.add(1, out);
  }
};

}  // namespace hopefear::features
