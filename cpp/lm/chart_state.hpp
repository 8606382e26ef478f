// Language-model scores of constituents, for hierarchical search: left and right states.
//
// A constituent's words are scored in their known context, so the first few have only an estimate
// until the words to the left of the constituent are known. Its *left state* is these words: it
// ends before the first word w_k for which no n-gram w_1 … w_k, or none with a word more on its
// left, is in the model; beyond that the left context can only cost back-off weights. A constituent
// is *full* if its left state is at its end although it has more words; then no words on the left
// change its right state.
//
// Any bracketing of a sentence gives the sentence's score.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/hash.hpp"
#include "lm/model.hpp"

namespace hopefear::lm {

// 48 bytes. Equal states recombine; the estimates are a function of the words and are not compared.
struct ChartState {
  WordId left[kMaxOrder - 1] = {};
  float estimate[kMaxOrder - 1] = {};  // log10, as contained in the constituent's score
  uint8_t left_length = 0;
  bool full = false;
  State right;

  friend bool operator==(const ChartState& a, const ChartState& b) {
    return a.right == b.right && a.left_length == b.left_length && a.full == b.full &&
           std::equal(a.left, a.left + a.left_length, b.left);
  }
};

inline uint64_t hash_of(const ChartState& state) {
  uint64_t h = combine64(state.right.context, state.left_length * 2U + (state.full ? 1 : 0));
  for (unsigned i = 0; i < state.left_length; ++i) h = combine64(h, state.left[i]);
  return h;
}

// A state as bytes, in the size that a model of that order needs: words of the left state, their
// estimates, right context, length and fullness of the left state. The unused part of the left
// state is zero, so equal states have equal bytes.
inline size_t packed_size(unsigned order) { return 8 * size_t{order}; }

inline void pack(const ChartState& state, unsigned order, std::byte* to) {
  const size_t part = 4 * (size_t{order} - 1);
  const uint32_t rest[] = {state.right.context, state.left_length * 2U + (state.full ? 1U : 0U)};
  std::memcpy(to, state.left, part);
  std::memcpy(to + part, state.estimate, part);
  std::memcpy(to + 2 * part, rest, sizeof(rest));
}

inline void unpack(const std::byte* from, unsigned order, ChartState& state) {
  const size_t part = 4 * (size_t{order} - 1);
  uint32_t rest[2];
  std::memcpy(rest, from + 2 * part, sizeof(rest));
  state.right.context = rest[0];
  state.left_length = static_cast<uint8_t>(rest[1] / 2);
  state.full = (rest[1] & 1) != 0;
  std::memcpy(state.left, from, part);
  std::memcpy(state.estimate, from + part, part);
}

// Appends a constituent to a context and returns the context after it; adds the change of its score
// to `log10`. Looks up the estimated words again and calls f(word, look-up, context after it) for
// each, until the context lies within the constituent; the remaining words keep their scores.
template <typename F>
State append(const Model& model, State context, const ChartState& in, double& log10, F&& f) {
  unsigned i = 0;
  for (; i < in.left_length && context.length() > i; ++i) {
    const Scored scored = model.look_up(context, in.left[i], context);
    log10 += scored.log10 - in.estimate[i];
    f(in.left[i], scored, context);
  }
  if (!in.full) return i == in.left_length ? context : in.right;
  if (i == in.left_length) log10 += model.backoff_beyond(context, i);
  return in.right;
}

// Scores the right-hand side of a rule, symbol by symbol from left to right:
//
//   RuleScore rule(model);
//   rule.terminal(the); rule.nonterminal(state, score); rule.terminal(house);
//   rule.state, rule.score()
//
// Invariant: as long as the state is not full, all words so far are in `left`, and the right state
// is all of them. O(order) look-ups per symbol.
class RuleScore {
 public:
  explicit RuleScore(const Model& model) : model_(&model) {}

  void begin_sentence() {  // if called, before all symbols; no words can be added on the left
    state.right = model_->begin();
    state.full = true;
  }

  void terminal(WordId word) {
    const Scored scored = model_->look_up(state.right, word, state.right);
    log10_ += scored.log10;
    if (!state.full) extend_left(word, scored);
  }

  // A constituent and its score() (natural log).
  void nonterminal(const ChartState& in, float score) {
    natural_ += score;
    if (in.left_length == 0 && !in.full) return;  // no words
    if (!state.full && state.left_length == 0) {  // nothing before it
      state = in;
      return;
    }
    state.right = append(*model_, state.right, in, log10_,
                         [&](WordId word, const Scored& scored, State after) {
                           if (state.full) return;
                           state.right = after;
                           extend_left(word, scored);
                         });
    state.full |= in.full;
  }

  double log10() const { return log10_; }  // of what this rule adds
  // Natural log.
  float score() const { return natural_ + static_cast<float>(log10_ * kLn10); }

  ChartState state;

 private:
  // state.right is already the state after the word.
  void extend_left(WordId word, const Scored& scored) {
    const unsigned k = state.left_length;
    if (scored.length != k + 1 || !scored.extends_left) {
      state.full = true;
      return;
    }
    state.left[k] = word;
    state.estimate[k] = scored.log10;
    ++state.left_length;
    if (state.right.length() != k + 1 || k + 2 >= model_->order()) state.full = true;
  }

  const Model* model_;  // not owned
  double log10_ = 0;
  float natural_ = 0;  // of its constituents
};

}  // namespace hopefear::lm
