// The language model: the log probability of the whole output, <s> and </s> included.
//
// Put together in three ways, each of which gives the same sum: word by word; phrase by phrase from
// left to right, where only a phrase's first words depend on what is before it (a state is the
// context, 4 bytes); and edge by edge of a forest, where all tails are constituents (a state is
// lm::pack of what they show at both ends). Amounts are log10 from left to right and natural logs
// in forests, with units to match.
#pragma once

#include <cstring>

#include "features/dense/counts.hpp"
#include "lm/chart_state.hpp"

namespace hopefear::features {

// A phrase without context.
struct LmPhrase {
  lm::ChartState state;
  double log10 = 0;
};

struct LanguageModel : Count {
  const lm::Model* model = nullptr;  // not owned

  // -- Word by word. --

  // Calls f(look-up) for each word of a target side, without context on the left; a nonterminal (a
  // negative symbol) hides the context on its left, too. `word(i)`: the number of symbol i in the
  // model. Stops when f returns false; returns whether it never did.
  template <typename Symbol, typename Word, typename F>
  bool for_words(std::span<const Symbol> target, Word&& word, F&& f) const {
    lm::State context = model->empty();
    for (size_t i = 0; i < target.size(); ++i) {
      if (static_cast<int32_t>(target[i]) < 0) {
        context = model->empty();
      } else if (!f(model->look_up(context, word(i), context))) {
        return false;
      }
    }
    return true;
  }

  // The feature of a whole translation, by its words: what the other ways must sum to.
  template <typename Word, typename Out>
  void sentence(size_t words, Word&& word, Out&& out) const {
    lm::State context = model->begin();
    double log10 = 0;
    for (size_t i = 0; i < words; ++i) log10 += model->look_up(context, word(i), context).log10;
    add(log10 + model->look_up(context, model->eos(), context).log10, out);
  }

  // -- From left to right. --

  // Context l of a state: those of all language models stand side by side.
  static constexpr size_t kContextSize = sizeof(lm::State::context);
  static lm::State context_in(const std::byte* state, size_t l) {
    lm::State context;
    std::memcpy(&context.context, state + l * kContextSize, kContextSize);
    return context;
  }
  static void put_context(lm::State context, std::byte* state, size_t l) {
    std::memcpy(state + l * kContextSize, &context.context, kContextSize);
  }

  template <typename Word>
  LmPhrase phrase(size_t words, Word&& word) const {
    lm::RuleScore rule(*model);
    for (size_t i = 0; i < words; ++i) rule.terminal(word(i));
    return {rule.state, rule.log10()};
  }
  // A phrase alone: the estimate of what it will add.
  template <typename Out>
  void alone(const LmPhrase& phrase, Out&& out) const {
    add(phrase.log10, out);
  }
  // A phrase behind a context, which becomes the one after it.
  template <typename Out>
  void step(lm::State& context, const LmPhrase& phrase, Out&& out) const {
    double change = 0;
    context = lm::append(*model, context, phrase.state, change, [](auto&&...) {});
    add(phrase.log10 + change, out);
  }
  template <typename Out>
  void end(lm::State context, Out&& out) const {
    add(model->look_up(context, model->eos(), context).log10, out);
  }

  // -- Over a forest. --

  size_t edge_state_size() const { return lm::packed_size(model->order()); }
  // The natural log that an edge adds to those of its tails, and the state of its head. `word(i)`
  // as above, `tail(k)` is the state of tail k. `whole`: the sentence begins and ends with this
  // edge, and nothing is left to remember.
  template <typename Word, typename Tail>
  float edge(std::span<const int32_t> target, bool whole, Word&& word, Tail&& tail,
             std::byte* state) const {
    const unsigned order = model->order();
    if (!whole && target.size() == 1 && target[0] < 0) {  // as it is
      std::memcpy(state, tail(0), lm::packed_size(order));
      return 0;
    }
    lm::RuleScore rule(*model);
    if (whole) rule.begin_sentence();
    for (size_t i = 0; i < target.size(); ++i) {
      if (target[i] >= 0) {
        rule.terminal(word(i));
      } else {
        lm::ChartState part;
        lm::unpack(tail(static_cast<size_t>(-1 - target[i])), order, part);
        rule.nonterminal(part, 0);
      }
    }
    if (whole) {
      rule.terminal(model->eos());
      rule.state = {};
    }
    lm::pack(rule.state, order, state);
    return rule.score();
  }
};

}  // namespace hopefear::features
