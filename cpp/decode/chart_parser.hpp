// Parses the source with synchronous rules: the forest before the language model.
//
// CYK+ from right to left and depth first [sennrich2014]: all cells that begin behind a position
// are complete before any that begins there, so a dotted item (a node of a trie with the chart's
// nodes for its nonterminals) is only ever on the stack, never in a table. What items complete is
// kept as (source side, nodes) per end, and becomes edges when its cell's turn comes.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/chart_sentence.hpp"
#include "features/sink.hpp"

namespace hopefear::decode {

struct ParseOptions {
  // Only rules whose words occur in it, without limit: what derivations of it can use.
  const std::vector<int32_t>* target = nullptr;
  // With the features of target words (words, unknown ones), which belong to the language model's
  // part; without them a forest has the features of its grammar only.
  bool target_features = true;
  // With the features that depend on where a rule is used. Otherwise their sums are in
  // ChartForest::place_scores, and ChartScorer records them for the edges that search keeps: one in
  // ten.
  bool record_places = true;
};

struct ChartForest {
  Forest forest;
  // Smaller than asked for where that would have made more edges than the limit allows.
  int32_t span_limit = 0;
  std::vector<double> place_scores;  // of each edge; empty if there are none
};

// Templates by what their features depend on; a template may have several parts.
struct ChartTemplates {
  explicit ChartTemplates(const features::Templates& templates);
  std::vector<const features::Template*> per_rule, per_span, per_gaps;
  bool depend_on_place() const { return !per_span.empty() || !per_gaps.empty(); }
  // What the place of a rule adds; `use` has its gaps.
  void fire_place(const features::RuleUse& use, features::Sink& sink) const;
};

// Edges of rule r of table t have rule number t * 2^32 + r; words that pass through, glue and the
// goal have none. Rows are shared by all uses of a rule; what templates fire for one place is the
// edge's own. The memo has these weights. Templates' new names go to `names`.
ChartForest parse(const ChartSentence& sentence, const Weights& weights,
                  const ParseOptions& options, features::Memo& memo, features::NameLog& names);

inline constexpr unsigned kTableShift = 32;

// A rule where an edge uses it, for templates. Owns what the use points to.
class ChartUse {
 public:
  explicit ChartUse(const ChartSentence& sentence);
  const features::Source& source() const { return source_; }
  // `tails`: what the nonterminals cover, in the order of the source side. A rule number as edges
  // have it. The result is valid until the next call.
  const features::RuleUse& of(int64_t rule, features::SourceSpan span,
                              std::span<const features::SourceSpan> tails,
                              std::span<const int32_t> target);

 private:
  const ChartSentence& sentence_;
  features::Source source_;
  features::RuleUse use_;
  std::vector<int32_t> side_;
  std::vector<rules::Link> links_;
};

}  // namespace hopefear::decode
