// The language model feature: the log probability of the complete output, including <s> and </s>.
//
// Computed in three ways with the same sum: word by word; phrase by phrase from left to right,
// where only the first words of a phrase depend on its context (a state is the context, 4 bytes);
// and edge by edge of a forest, where all tails are constituents (a state is their packed left and
// right state, lm::pack). Amounts are log10 from left to right and natural logs in forests, with
// units to match.
#pragma once

#include <cstring>

#include "features/dense/counts.hpp"
#include "lm/chart_state.hpp"

namespace hopefear::features {

// A phrase without context.
struct LmPhrase {
  lm::ChartState state;
  double log10 = 0;
  uint32_t unknown = 0;  // words that the model lacks
};

struct LanguageModel : Count {
  const lm::Model* model = nullptr;  // not owned

  // -- Word by word. --

  // Calls f(look-up) for each word of a target side, without context on the left; a nonterminal (a
  // negative symbol) resets the context. `word(i)`: the number of symbol i in the model. Stops and
  // returns false if f does.
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

  // The feature of a complete translation, word by word: the reference for the other ways.
  template <typename Word, typename Out>
  void sentence(size_t words, Word&& word, Out&& out) const {
    lm::State context = model->begin();
    double log10 = 0;
    for (size_t i = 0; i < words; ++i) log10 += model->look_up(context, word(i), context).log10;
    add(log10 + model->look_up(context, model->eos(), context).log10, out);
  }

  // -- From left to right. --

  // Context l of a state, which has the contexts of all language models in order.
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
    uint32_t unknown = 0;
    for (size_t i = 0; i < words; ++i) {
      const lm::WordId id = word(i);
      unknown += id == lm::kUnknown;
      rule.terminal(id);
    }
    return {rule.state, rule.log10(), unknown};
  }
  // The estimate of a phrase without context.
  template <typename Out>
  void alone(const LmPhrase& phrase, Out&& out) const {
    add(phrase.log10, out);
  }
  // Adds a phrase after a context and updates the context.
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
  // Returns the natural log probability that an edge adds to those of its tails, and writes the
  // state of its head. `word(i)` as above, `tail(k)` is the state of tail k. `whole`: the edge is
  // the complete sentence, whose state is empty.
  template <typename Word, typename Tail>
  float edge(std::span<const int32_t> target, bool whole, Word&& word, Tail&& tail,
             std::byte* state) const {
    const unsigned order = model->order();
    if (!whole && target.size() == 1 && target[0] < 0) {  // unchanged
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
