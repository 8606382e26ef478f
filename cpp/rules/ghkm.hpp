// Extracts string-to-tree rules from a sentence pair with a target tree. [galley2004, galley2006]
//
// A node is a frontier node if no source word within its span (from the first to the last source
// word aligned to its words) is aligned to words outside of it. The tree is cut at frontier nodes:
// each piece is the target side of a minimal rule, with the nodes below as nonterminals. Composed
// rules join minimal rules.
//
// Unaligned source words belong to a rule in one way (`all` false, as in Moses's extract-ghkm): the
// rule of the lowest node that covers the neighbouring aligned words; or in all ways: every
// frontier node between the neighbours may include them. Differs: Galley et al. take words as
// frontier nodes, too; here they are parts of rules.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "rules/aligned_corpus.hpp"
#include "rules/rule.hpp"
#include "syntax/tree.hpp"

namespace hopefear::rules {

struct GhkmOptions {
  bool composed;
  // Limits of composed rules: nodes of the piece of tree (phrases, preterminals, nonterminals);
  // phrases that are expanded; the longest chain of them.
  uint32_t max_nodes, max_size, max_depth;
  // Of all rules: nonterminals at the ends of the source side and adjacent ones. [hopkins2010]
  uint32_t max_scope;
  uint32_t max_symbols;   // on each side of a rule, at most 100
  bool unary;             // also rules whose source side is a single nonterminal
  bool all;               // attach unaligned source words in all ways
  uint32_t max_attached;  // if all: unaligned words that a node takes at either end
  bool fractional;        // if all: the ways of a piece of tree share a count of 1
};

struct GhkmOccurrence {
  std::vector<Symbol> source, target;  // as in Rule; nonterminals of the source have labels
  std::vector<Link> links;             // between words, ordered by target, then source
  std::vector<uint16_t> fragment;
  uint32_t label = 0;  // of the root
  double count = 1;
};

// For one thread; reuses its buffers.
class GhkmExtractor {
 public:
  explicit GhkmExtractor(const GhkmOptions& options) : options_(options) {}
  // Calls visit for each rule of the pair. `tree` has as many words as the pair has target words.
  void operator()(const SentencePair& pair, const syntax::Tree& tree,
                  const std::function<void(const GhkmOccurrence&)>& visit);
  // Nodes of the last pair whose rules were not composed further: more than kMostRules.
  uint64_t truncated() const { return truncated_; }

 private:
  static constexpr size_t kMostRules = 20000;
  struct Item {  // a frontier node with the source words [begin, end)
    uint32_t node, begin, end;
    bool done = false;
    std::vector<uint32_t> rules;  // numbers in rules_
  };
  struct Rule {
    uint32_t nodes, size, depth;
    std::vector<uint32_t> open;  // items of its nonterminals, in target order
  };
  struct Piece {  // of a frontier node: down to the frontier nodes below it
    bool known = false;
    uint32_t nodes = 0, size = 0, depth = 0;
    std::vector<uint32_t> open, levels;  // nodes in target order; nodes above each in the piece
  };
  bool phrase(uint32_t node) const { return !tree_->preterminal(node) || attached_[node]; }
  void prepare();
  void attach();
  const Piece& piece(uint32_t node);
  uint32_t item(uint32_t node, uint32_t begin, uint32_t end);
  void derive(uint32_t item);
  void minimal(uint32_t item);
  void compose(uint32_t item);
  bool fill(uint32_t item, const Rule& rule);
  void write_node(uint32_t node, uint32_t root);

  GhkmOptions options_;
  const SentencePair* pair_ = nullptr;
  const syntax::Tree* tree_ = nullptr;
  uint64_t truncated_ = 0;
  std::vector<bool> aligned_;           // by source word
  std::vector<uint32_t> low_, high_;    // by source word: its first and last target word
  std::vector<uint32_t> target_begin_;  // into by_target_
  std::vector<Point> by_target_;        // ordered by target, then source
  std::vector<uint32_t> place_;         // by source word: the node it is attached to
  std::vector<bool> attached_;          // by node: some source word is attached to it
  std::vector<uint64_t> spans_;         // by node: bits of source words
  std::vector<uint32_t> first_, last_;  // by node: source span [first, last)
  std::vector<bool> frontier_;          // by node
  std::vector<Piece> pieces_;           // by node
  std::vector<Item> items_;
  std::map<std::vector<uint32_t>, uint32_t> item_numbers_;
  std::vector<Rule> rules_;
  std::vector<uint32_t> order_;         // items, parents before the items below them
  std::vector<uint32_t> open_;          // by node: 1 + nonterminal of the current rule, or 0
  std::vector<uint32_t> source_place_;  // by source word of the current rule
  GhkmOccurrence occurrence_;
};

}  // namespace hopefear::rules
