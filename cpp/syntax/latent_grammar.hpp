// A context-free grammar over binarised trees whose symbols are split into substates. [petrov2006]
//
// Rules are binary, unary or lexical (a tag and a word). A node of a tree is either the bottom of
// its span, made by a binary or lexical rule, or the top, made by one unary rule from a bottom;
// longer unary chains are one rule, whose most frequent inner labels are kept. The root is a top
// with the symbol TOP, which has one substate.
//
// Words are scored by p(substate | word) / p(substate): the counts of a word, mixed with those of
// its signature (its shape: capitals, digits, suffix) if it is rare.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/binary_file.hpp"
#include "base/word_numbers.hpp"

namespace hopefear::syntax {

inline constexpr BinaryKind kParserKind = {"parser", 1, "re-create it with 'hopefear parse train'"};
inline constexpr uint32_t kMostSubstates = 64;
inline constexpr char kTagMark = 1;  // before the names of tags

// The shape of a word: "UNK-cap-s". `first`: it begins the sentence.
std::string signature(std::string_view word, bool first);

struct LatentGrammar {
  // p[(y * size(right) + z) * size(parent) + x]: parent substate x to left y and right z.
  struct Binary {
    uint32_t parent, left, right;
    std::vector<float> p;
  };
  // p[y * size(parent) + x]
  struct Unary {
    uint32_t parent, child;
    std::vector<float> p;
    std::vector<uint32_t> inside;  // labels of the chain, from the parent down
  };
  struct Emission {  // of a tag: expected counts by substate
    uint32_t tag;
    std::vector<float> counts;
  };

  WordNumbers symbols;
  std::vector<uint8_t> tag;         // by symbol: it is a tag (symbols of tags and phrases differ)
  std::vector<uint32_t> substates;  // by symbol
  std::vector<Binary> binary;
  std::vector<Unary> unary;
  WordNumbers words;
  std::vector<std::vector<Emission>> by_word;  // ascending tags
  WordNumbers signatures;
  std::vector<std::vector<Emission>> by_signature;
  std::vector<double> word_counts, signature_counts;
  std::vector<std::vector<double>> tag_counts;  // by symbol: expected counts by substate
  uint32_t root = 0;
  bool lowercase = false;
  uint32_t rare = 5;  // words seen at most so often give the counts of signatures
  double prior = 1;   // weight of the signature in the counts of a word

  // Scores of the tags that a word may have; tags are those of the word, and if it is rare or
  // unknown those of its signature.
  struct Scored {
    uint32_t tag;
    std::vector<float> scores;
  };
  std::vector<Scored> score_word(std::string_view word, bool first) const;
  std::string spelling(std::string_view word) const;  // lower case, if the grammar has it
  // Symbols of phrases and tags of the same name differ: the latter have a mark before the name.
  uint32_t phrase_symbol(std::string_view label) { return add_symbol(std::string(label), false); }
  uint32_t tag_symbol(std::string_view label) {
    return add_symbol(std::string(1, kTagMark).append(label), true);
  }
  std::string_view name(uint32_t symbol) const {
    const std::string_view text = symbols.word(symbol);
    return tag[symbol] ? text.substr(1) : text;
  }

  void save(const std::string& path, std::string_view info) const;
  static LatentGrammar open(const std::string& path);

 private:
  uint32_t add_symbol(const std::string& key, bool is_tag) {
    const uint32_t symbol = symbols.add(key);
    if (symbol == tag.size()) {
      tag.push_back(is_tag ? 1 : 0);
      substates.push_back(1);
    }
    return symbol;
  }
};

}  // namespace hopefear::syntax
