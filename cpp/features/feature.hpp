// The contract of feature templates. A template has a name and optionally a state, and writes
// features to a sink; it does not depend on the decoder. One file per template, `sparse/NAME.cpp`,
// which registers it (see registry.hpp).
//
// Stateless templates see a rule at its place and fire once per (rule, span), or once per rule if
// they do not depend on the place; their features become a row that all edges of that use share.
// Stateful templates follow the construction of the target side: an edge with tails is a step, in
// any search. A step of phrase search has one tail (the preceding translation) with its slot in
// front, a step of chart parsing has one tail per nonterminal of the rule, so the same code serves
// both.
//
// A state is `state_size()` bytes, which are compared and hashed: write all of them, including
// padding. Nothing else may be kept between calls, since threads share templates.
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

// The source sentence. Source words and the target words of rules have numbers of the sentence's
// vocabulary. Templates may intern their own strings there to put them into states: a string keeps
// its number while the sentence is decoded.
struct Source {
  std::span<const int32_t> words;
  Vocabulary* vocabulary = nullptr;
  // Part-of-speech tags of the words, numbered there too; empty: not tagged.
  std::span<const int32_t> tags = {};
};

struct SourceSpan {
  int32_t begin = 0, end = 0;  // half-open
};

inline constexpr int64_t kPassThrough = -1;  // a rule that is in no table

// A rule at its place in the sentence. All spans are valid during the call only.
struct RuleUse {
  const Source* source = nullptr;
  SourceSpan span;
  // Words, and -1-k for the k-th nonterminal in the order of the source side.
  std::span<const int32_t> source_side, target_side;
  std::span<const rules::Link> links;  // positions in the two sides; a nonterminal is one position
  // The spans that the nonterminals cover; empty except in fire_gaps() and step().
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

  // Stateless part: called once per rule and span, or once per rule if needs_span() is false.
  virtual bool needs_span() const { return true; }
  virtual void fire(const RuleUse& use, Sink& sink) const;
  // Features that depend on the spans of nonterminals: called once per edge of a rule with
  // nonterminals, if needs_gaps(). Edges cannot share such features, so fire here only those that
  // fire() cannot.
  virtual bool needs_gaps() const { return false; }
  virtual void fire_gaps(const RuleUse& use, Sink& sink) const;
  // Whether it uses Source::tags; sentences are tagged only if some template does.
  virtual bool needs_tags() const { return false; }

  // Stateful part; state_size() == 0: none.
  virtual size_t state_size() const { return 0; }
  // Whether a step may have at most one tail, in front, which excludes chart parsing.
  virtual bool left_to_right_only() const { return false; }
  // Whether step() uses Step::use, which takes time to construct.
  virtual bool needs_use() const { return true; }
  // Writes the state at the beginning of a sentence, for left-to-right search.
  virtual void begin(std::byte* state) const;
  virtual void step(const Step& step, Sink& sink, std::byte* state) const;
  // Called at the end of the sentence; `begun`: the state started with begin(), so the left edge of
  // the sentence has been processed.
  virtual void finish(const Source& source, const std::byte* state, bool begun, Sink& sink) const;

 protected:
  const std::string name_;  // the prefix of its features' names
};

using Templates = std::vector<std::shared_ptr<const Template>>;

}  // namespace hopefear::features
