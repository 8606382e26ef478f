// Parses the source with synchronous rules: the forest before the language model.
//
// CYK+ from right to left and depth first [sennrich2014]: all cells that begin after a position are
// complete before any that begins there, so a dotted item (a trie node with the chart nodes of its
// nonterminals) lives on the stack only, never in a table. Completed items are kept as (source
// side, nodes) by end position and become edges when their cell is filled.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/chart_sentence.hpp"
#include "features/sink.hpp"

namespace hopefear::decode {

struct ParseOptions {
  // If set: only rules whose words occur in this target, without a rule limit, i.e. the rules that
  // its derivations can use.
  const std::vector<int32_t>* target = nullptr;
  // Include the features that count target words and unknown words, which belong to the language
  // model; without them a forest has the features of its grammar only.
  bool target_features = true;
  // Include the features that depend on where a rule is used. Otherwise their scores are in
  // ChartForest::place_scores, and ChartScorer records the features of the edges that search keeps,
  // about one in ten.
  bool record_places = true;
};

struct ChartForest {
  Forest forest;
  // Smaller than requested if that would have given more edges than the limit.
  int32_t span_limit = 0;
  std::vector<double> place_scores;  // per edge; empty if no feature depends on the place
};

// Templates grouped by what their features depend on; a template may be in several groups.
struct ChartTemplates {
  explicit ChartTemplates(const features::Templates& templates);
  std::vector<const features::Template*> per_rule, per_span, per_gaps;
  bool depend_on_place() const { return !per_span.empty() || !per_gaps.empty(); }
  // Fires the features that depend on the place of a rule; `use` includes its gaps.
  void fire_place(const features::RuleUse& use, features::Sink& sink) const;
};

// Edges of rule r of table t have rule number t * 2^32 + r; untranslated words, glue and the goal
// have none. All uses of a rule share a row; features of one place belong to the edge. `memo`
// caches the same weights. New feature names are added to `names`.
ChartForest parse(const ChartSentence& sentence, const Weights& weights,
                  const ParseOptions& options, features::Memo& memo, features::NameLog& names);

inline constexpr unsigned kTableShift = 32;

// Describes to templates a rule at the place where an edge uses it. Owns the data that the use
// points to.
class ChartUse {
 public:
  explicit ChartUse(const ChartSentence& sentence);
  const features::Source& source() const { return source_; }
  // `rule`: the edge's rule number; `tails`: the spans of the nonterminals in source order. The
  // result is valid until the next call.
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
