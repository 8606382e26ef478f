// Encodes sides of rules as bytes that sort like the lines of a text table: each word by its rank
// in the order of words, big-endian, nonterminals after all words, and at the end the rank of
// "|||".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.hpp"
#include "rules/vocabulary.hpp"

namespace hopefear::rules {

class PhraseCodec {
 public:
  // Nonterminals, if any, have numbers below `nonterminals`.
  explicit PhraseCodec(const WordNumbers& words, uint32_t nonterminals = 0);

  size_t width() const { return width_; }  // bytes per symbol
  // Encodes words, by the collector's numbers, and nonterminals; does not write the end mark.
  void encode(std::span<const Symbol> symbols, std::string& bytes) const {
    bytes.clear();
    append(symbols, bytes);
  }
  void append(std::span<const Symbol> symbols, std::string& bytes) const;
  const std::string& end_mark() const { return end_mark_; }
  // The number of symbols before the first end mark.
  size_t length(std::string_view bytes) const;
  // Decodes these symbols; words as ranks, which are their numbers in a table.
  void decode(std::string_view bytes, size_t length, std::vector<Symbol>& symbols) const;

  // Table number -> the collector's number, and the words by table number.
  const std::vector<Word>& order() const { return order_; }
  const std::vector<std::string_view>& words() const { return words_; }

 private:
  uint32_t at(const char* bytes) const {
    uint32_t value = 0;
    for (size_t i = 0; i < width_; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  }
  std::string encoded(uint32_t value) const;
  size_t width_;
  uint32_t end_;  // the rank of "|||"; the bytes of words after it are one higher than their rank
  std::string end_mark_;
  std::vector<Word> order_;
  std::vector<std::string> bytes_;  // per word of the collector, then per nonterminal
  std::vector<std::string_view> words_;
};

}  // namespace hopefear::rules
