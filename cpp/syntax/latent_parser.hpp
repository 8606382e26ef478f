// Parses with a latent-annotation grammar, coarse to fine. [petrov2007]
//
// CKY with the grammar without substates gives the posterior of each symbol over each span; the
// grammar with substates is used for those that pass a threshold only. Of the result, the tree is
// taken whose product of posteriors of rules, without substates, is largest (max-rule-product).
//
// Why not the chart decoder: its forest of the treebank sample's grammar without substates has
// 360,000 edges for 24 words and takes 50 ms, and the one with substates a hundred times as many.
// Here edges are not stored, and a sentence takes 20 ms.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/latent_grammar.hpp"

namespace hopefear::syntax {

struct ParseSettings {
  double threshold;   // posterior below which a symbol over a span is not parsed with substates
  double beam;        // share of the best inside score of a span, in the coarse pass
  size_t most_words;  // longer sentences get no tree
};

class LatentParser {
 public:
  LatentParser(LatentGrammar grammar, const ParseSettings& settings);
  ~LatentParser();
  enum class Outcome { parsed, flat, none };
  // Writes the tree of a sentence in brackets, with the given words. `flat`: the grammar has no
  // tree for it, all words are below one FRAG. `none`: it is empty or too long, the text is `()`.
  // Thread-safe.
  Outcome parse(std::span<const std::string_view> words, std::string& text) const;
  // The log-probability of a sentence under the grammar with substates, without pruning, up to a
  // constant per word; for tests.
  double likelihood(std::span<const std::string_view> words) const;
  const LatentGrammar& grammar() const { return grammar_; }

 private:
  class Chart;
  struct Pair {  // the rules of a left and a right child
    uint32_t begin = 0, end = 0;
  };
  LatentGrammar grammar_;
  ParseSettings settings_;
  std::vector<Pair> pairs_;        // by left * symbols + right
  std::vector<uint32_t> by_pair_;  // binary rules
  std::vector<float> coarse_binary_, coarse_unary_;
};

}  // namespace hopefear::syntax
