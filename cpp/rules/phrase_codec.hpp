// Sides of rules as bytes whose order is that of the lines of a sorted text table: each word as its
// place in the order of words, big-endian, nonterminals behind all words, and at the end the place
// of "|||".
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

  size_t width() const { return width_; }  // bytes for a word
  // Words of the collector, and nonterminals; the end mark is not written.
  void encode(std::span<const Symbol> symbols, std::string& bytes) const {
    bytes.clear();
    append(symbols, bytes);
  }
  void append(std::span<const Symbol> symbols, std::string& bytes) const;
  const std::string& end_mark() const { return end_mark_; }
  // The number of symbols in front of the end mark that the bytes begin with.
  size_t length(std::string_view bytes) const;
  // Those symbols; words as places in the order, which are their numbers in a table.
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
  uint32_t end_;  // the place of "|||"; words behind it are one higher in bytes than in the order
  std::string end_mark_;
  std::vector<Word> order_;
  std::vector<std::string> bytes_;  // of each word of the collector, then of nonterminals
  std::vector<std::string_view> words_;
};

}  // namespace hopefear::rules
