// The contract of feature templates. A template has a name, perhaps a state, and writes into a
// sink; it does not know which decoder calls it. One file per template, `sparse/NAME.cpp`, which
// registers it (see registry.hpp).
//
// Stateless templates look at a rule where it is used and fire once per (rule, span), or once per
// rule if the place does not matter to them; what they fire becomes a row that all edges of that
// use share. Stateful ones follow the target side as it
// is put together: an edge with tails is a step, whatever the search. A step of phrase search has
// one tail (what is translated already) with its slot in front, a step of chart parsing has one for
// every nonterminal of the rule, so the same code serves both.
//
// A state is `state_size()` bytes that are compared and hashed as such: write all of them, padding
// too. Nothing else may be remembered between calls: templates are shared by threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/vocabulary.hpp"
#include "features/sink.hpp"
#include "rules/rule.hpp"

namespace hopefear::features {

// The source sentence. Words have the numbers of the sentence's vocabulary, in which the target
// words of its rules are numbered too. Templates may number strings of their own there, so that a
// state can have them: equal strings have equal numbers for all of the sentence's decoding.
struct Source {
  std::span<const int32_t> words;
  Vocabulary* vocabulary = nullptr;
  // Parts of speech of the words in this sentence, numbered there too; empty: not tagged.
  std::span<const int32_t> tags = {};
};

struct SourceSpan {
  int32_t begin = 0, end = 0;  // half-open
};

inline constexpr int64_t kPassThrough = -1;  // a rule that is in no table

// A rule at a place of the sentence. All spans are valid during the call only.
struct RuleUse {
  const Source* source = nullptr;
  SourceSpan span;
  // Words, and -1-k for the k-th nonterminal in the order of the source side.
  std::span<const int32_t> source_side, target_side;
  std::span<const rules::Link> links;  // places in the two sides; nonterminals count as one
  // What the k-th nonterminal covers; empty except for fire_gaps() and step().
  std::span<const SourceSpan> gaps;
  std::span<const float> scores;  // the table's columns; empty for a rule that is in no table
  rules::Counts counts{};
  int64_t rule = kPassThrough;  // its number in the table
};

// A step of the derivation: the target side of an edge with the states of its tails.
struct Step {
  const Source* source = nullptr;  // of the sentence; never null
  // Null for an edge without a rule (glue, goal), or if no template needs_use().
  const RuleUse* use = nullptr;
  std::span<const int32_t> target;  // words, and -1-k for the string of tail k
  std::span<const std::byte* const> tails;
};

class Template {
 public:
  explicit Template(std::string name) : name_(std::move(name)) {}
  virtual ~Template() = default;
  const std::string& name() const { return name_; }

  // Stateless part: once for each rule at each span, or for each rule if not needs_span().
  virtual bool needs_span() const { return true; }
  virtual void fire(const RuleUse& use, Sink& sink) const;
  // What depends on where the nonterminals lie: once for each edge of a rule that has some, if
  // needs_gaps(). Such features cannot be shared by edges, so fire nothing here that fire() can.
  virtual bool needs_gaps() const { return false; }
  virtual void fire_gaps(const RuleUse& use, Sink& sink) const;
  // Whether it looks at Source::tags; sentences are tagged only where some template does.
  virtual bool needs_tags() const { return false; }

  // Stateful part; state_size() == 0 means that there is none.
  virtual size_t state_size() const { return 0; }
  // Whether a step must have one tail at most, in front: no chart parsing.
  virtual bool left_to_right_only() const { return false; }
  // Whether step() looks at Step::use; it takes time to make.
  virtual bool needs_use() const { return true; }
  // The state at the beginning of a sentence, for search from left to right.
  virtual void begin(std::byte* state) const;
  virtual void step(const Step& step, Sink& sink, std::byte* state) const;
  // At the end of the sentence; `begun`: the state grew from begin(), so the left edge of the
  // sentence was seen already.
  virtual void finish(const Source& source, const std::byte* state, bool begun, Sink& sink) const;

 protected:
  const std::string name_;  // what its features' names begin with
};

using Templates = std::vector<std::shared_ptr<const Template>>;

}  // namespace hopefear::features
