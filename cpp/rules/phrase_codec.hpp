// Encodes sides of rules as bytes that sort like the lines of a text table: each word by its rank
// in the order of words, big-endian, nonterminals after all words, and at the end the rank of
// "|||".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.hpp"
#include "rules/vocabulary.hpp"

namespace hopefear::rules {

// The half that encodes: it needs no words and can be sent to another process.
class PhraseEncoder {
 public:
  // Takes what state() returned; InputError if it is damaged.
  explicit PhraseEncoder(std::span<const uint32_t> state);
  // Width, number of words, rank of "|||", then the value of each symbol.
  std::vector<uint32_t> state() const;

  size_t words() const { return words_; }
  size_t width() const { return width_; }  // bytes per symbol
  // Encodes words, by the collector's numbers, and nonterminals; does not write the end mark.
  void encode(std::span<const Symbol> symbols, std::string& bytes) const {
    bytes.clear();
    append(symbols, bytes);
  }
  void append(std::span<const Symbol> symbols, std::string& bytes) const;
  const std::string& end_mark() const { return end_mark_; }

 protected:
  PhraseEncoder() = default;
  uint32_t at(const char* bytes) const {
    uint32_t value = 0;
    for (size_t i = 0; i < width_; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  }
  std::string encoded(uint32_t value) const;
  size_t width_ = 0, words_ = 0;
  uint32_t end_ =
      0;  // the rank of "|||"; the bytes of words after it are one higher than their rank
  std::string end_mark_;
  std::vector<std::string> bytes_;  // per word of the collector, then per nonterminal
};

class PhraseCodec : public PhraseEncoder {
 public:
  // Nonterminals, if any, have numbers below `nonterminals`.
  explicit PhraseCodec(const WordNumbers& words, uint32_t nonterminals = 0);

  // The number of symbols before the first end mark.
  size_t length(std::string_view bytes) const;
  // Decodes these symbols; words as ranks, which are their numbers in a table.
  void decode(std::string_view bytes, size_t length, std::vector<Symbol>& symbols) const;

  // Table number -> the collector's number, and the texts of words by table number.
  const std::vector<Word>& order() const { return order_; }
  const std::vector<std::string_view>& texts() const { return texts_; }

 private:
  std::vector<Word> order_;
  std::vector<std::string_view> texts_;
};

}  // namespace hopefear::rules
