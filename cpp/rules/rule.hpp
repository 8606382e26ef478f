// A rule on its way into or out of a table: a phrase pair or, with nonterminals, a synchronous
// rule.
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
// label, on a target side which of the source side's nonterminals it is (0 the first).
using Symbol = uint32_t;
inline constexpr Symbol kNonterminal = 0x80000000;
inline bool is_nonterminal(Symbol symbol) { return (symbol & kNonterminal) != 0; }
inline uint32_t nonterminal(Symbol symbol) { return symbol & ~kNonterminal; }

inline constexpr uint32_t kManySentences = 0xffffffff;
inline constexpr uint16_t kNoLabel = 0xffff;

// How often the target side, the source side and the two together were extracted; fractions where
// the extraction counts in fractions.
struct Counts {
  float target, source, joint;
};

// A score that only few rules have: which of the table's sparse names, and its value.
struct SparseScore {
  uint32_t feature;
  float value;
};

// All spans point to memory of someone else.
struct RuleView {
  std::span<const Symbol> source;  // empty when read by its number (the trie knows it)
  std::span<const Symbol> target;
  std::span<const Link> links;    // nonterminals count as one place; ordered by target, then source
  std::span<const float> scores;  // natural logs, one for each column, reordering last
  Counts counts;
  uint32_t sentence;  // from 0: the only one it was extracted from; or kManySentences
  uint16_t label;     // of the left-hand side; kNoLabel for phrase pairs
  // Of the source side: symbols, and nonterminals among them. Set when read from a table.
  uint8_t source_size = 0, arity = 0;
  std::span<const SparseScore> sparse = {};  // besides the columns; only in imported grammars
};

// Whether all its scores are numbers: tables do not look at those that they hold.
inline bool all_finite(const RuleView& rule) {
  return std::ranges::all_of(rule.scores, [](float score) { return std::isfinite(score); }) &&
         std::ranges::all_of(rule.sparse, [](SparseScore s) { return std::isfinite(s.value); });
}

// What the columns of a table's score rows are.
struct Columns {
  std::vector<std::string> names;  // translation scores, then reordering scores
  // The last so many columns are reordering scores: 0; 3, backward mono, swap, other; or 6, those
  // and the same forward. They fire one at a time, as the derivation goes; all others always.
  uint32_t reordering = 0;
  size_t size() const { return names.size(); }
  size_t translation() const { return names.size() - reordering; }
};

class RuleSink {
 public:
  virtual ~RuleSink() = default;
  virtual void add(const RuleView& rule) = 0;
};

}  // namespace hopefear::rules
