// The dense features of hierarchical search, and the contributions of each side of a rule.
#pragma once

#include <algorithm>
#include <vector>

#include "base/sparse_vector.hpp"
#include "features/dense/language_model.hpp"

namespace hopefear::features {

struct ChartFeatures {
  std::vector<FeatureId> ids;  // by number
  std::vector<LanguageModel> lms;
  std::vector<Count> lm_unknown;  // per language model: unknown words
  std::vector<Count> arity;       // [k]: rules with k nonterminals, the last one for more
  Count words, source_words;      // of target and source sides
  Count rules;                    // all rules, including glue, excluding the goal
  Count glue;                     // S -> S X
  Count pass_through;

  template <typename Out>
  void source_side(size_t nonterminals, int32_t source_side_words, Out&& out) const {
    if (!arity.empty()) arity[std::min(nonterminals, arity.size() - 1)].add(1, out);
    rules.add(1, out);
    source_words.add(source_side_words, out);
  }
  // `knows(l, word)`: whether language model l knows the word.
  template <typename Knows, typename Out>
  void target_side(std::span<const int32_t> target, Knows&& knows, Out&& out) const {
    const auto count = [&](auto&& is_one) {
      return static_cast<double>(std::count_if(target.begin(), target.end(),
                                               [&](int32_t s) { return s >= 0 && is_one(s); }));
    };
    words.add(count([](int32_t) { return true; }), out);
    for (size_t l = 0; l < lm_unknown.size(); ++l) {
      lm_unknown[l].add(count([&](int32_t word) { return !knows(l, word); }), out);
    }
  }

  // Calls f(count) for each count, in the order in which a rule adds them.
  template <typename F>
  void for_counts(F&& f) {
    for (Count& each : arity) f(each);
    for (Count* each : {&rules, &source_words, &words}) f(*each);
    for (Count& each : lm_unknown) f(each);
    for (Count* each : {&glue, &pass_through}) f(*each);
  }
};

}  // namespace hopefear::features
