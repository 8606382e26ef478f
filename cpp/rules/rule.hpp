// A rule as it is written to or read from a table: a phrase pair or, with nonterminals, a
// synchronous rule.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rules/lexicon.hpp"
#include "rules/vocabulary.hpp"

namespace hopefear::rules {

// A word's number or, with the top bit set, a nonterminal: on a source side the number of its
// label, on a target side the index of the source side's nonterminal (from 0).
using Symbol = uint32_t;
inline constexpr Symbol kNonterminal = 0x80000000;
inline bool is_nonterminal(Symbol symbol) { return (symbol & kNonterminal) != 0; }
inline uint32_t nonterminal(Symbol symbol) { return symbol & ~kNonterminal; }

inline constexpr uint32_t kManySentences = 0xffffffff;
inline constexpr uint16_t kNoLabel = 0xffff;

// How often the target side, the source side and the pair were extracted; fractional with
// fractional counting.
struct Counts {
  float target, source, joint;
};

// A score that few rules have: its index in the table's sparse names, and its value.
struct SparseScore {
  uint32_t feature;
  float value;
};

// A view: all spans point to memory owned elsewhere.
struct RuleView {
  std::span<const Symbol> source;  // empty when read by number (see the trie)
  std::span<const Symbol> target;
  std::span<const Link> links;    // a nonterminal is one position; ordered by target, then source
  std::span<const float> scores;  // natural logs, one per column, reordering scores last
  Counts counts;
  uint32_t sentence;  // the only sentence it was extracted from, from 0; or kManySentences
  uint16_t label;     // of the left-hand side; kNoLabel for phrase pairs
  // Symbols of the source side, and nonterminals among them. Set when read from a table.
  uint8_t source_size = 0, arity = 0;
  std::span<const SparseScore> sparse =
      {};  // scores that are not columns; only in imported grammars
  // The target side as a piece of tree: tokens as below; only in tree rules.
  std::span<const uint16_t> fragment = {};
};

// Whether all scores are finite, which tables do not check.
inline bool all_finite(const RuleView& rule) {
  return std::ranges::all_of(rule.scores, [](float score) { return std::isfinite(score); }) &&
         std::ranges::all_of(rule.sparse, [](SparseScore s) { return std::isfinite(s.value); });
}

// The columns of a table's score rows.
struct Columns {
  std::vector<std::string> names;  // translation scores, then reordering scores
  // Number of reordering scores, the last columns. In our tables: 0; 3 (backward mono, swap,
  // other); or 6 (the same forward, too); imported ones may have other sets of orientations. The
  // derivation decides which one of a direction fires; all other columns always fire.
  uint32_t reordering = 0;
  size_t size() const { return names.size(); }
  size_t translation() const { return names.size() - reordering; }
};

// Tokens of a fragment besides labels, which open a node: the next symbol of the target side, and
// the end of a node.
inline constexpr uint16_t kFragmentLeaf = 0xffff, kFragmentClose = 0xfffe;

class RuleSink {
 public:
  virtual ~RuleSink() = default;
  virtual void add(const RuleView& rule) = 0;
};

}  // namespace hopefear::rules
