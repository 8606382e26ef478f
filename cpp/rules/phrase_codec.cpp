#include "rules/phrase_codec.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace hopefear::rules {

PhraseEncoder::PhraseEncoder(std::span<const uint32_t> state) {
  if (state.size() < 3 || state[0] < 2 || state[0] > 4 || state[1] > state.size() - 3) {
    throw InputError("the encoding of phrases is damaged");
  }
  width_ = state[0];
  words_ = state[1];
  end_ = state[2];
  end_mark_ = encoded(end_);
  for (const uint32_t value : state.subspan(3)) bytes_.push_back(encoded(value));
}

std::vector<uint32_t> PhraseEncoder::state() const {
  std::vector<uint32_t> state = {static_cast<uint32_t>(width_), static_cast<uint32_t>(words_),
                                 end_};
  for (const std::string& bytes : bytes_) state.push_back(at(bytes.data()));
  return state;
}

PhraseCodec::PhraseCodec(const WordNumbers& words, uint32_t nonterminals) : order_(sorted(words)) {
  const size_t values = words.size() + nonterminals;
  width_ = values < 0xffff ? 2 : values < 0xffffff ? 3 : 4;
  words_ = order_.size();
  texts_.reserve(order_.size());
  for (const Word id : order_) texts_.push_back(words.word(id));
  end_ = static_cast<uint32_t>(
      std::lower_bound(texts_.begin(), texts_.end(), std::string_view("|||"), word_less) -
      texts_.begin());
  end_mark_ = encoded(end_);
  bytes_.resize(order_.size());
  for (uint32_t place = 0; place < order_.size(); ++place) {
    bytes_[order_[place]] = encoded(place + (place >= end_ ? 1 : 0));
  }
  for (uint32_t i = 0; i < nonterminals; ++i) {
    bytes_.push_back(encoded(static_cast<uint32_t>(order_.size() + 1 + i)));
  }
}

std::string PhraseEncoder::encoded(uint32_t value) const {
  std::string bytes(width_, '\0');
  for (size_t i = width_; i-- > 0; value >>= 8) bytes[i] = static_cast<char>(value & 0xff);
  return bytes;
}

void PhraseEncoder::append(std::span<const Symbol> symbols, std::string& bytes) const {
  for (const Symbol symbol : symbols) {
    bytes += bytes_[is_nonterminal(symbol) ? words_ + nonterminal(symbol) : symbol];
  }
}

size_t PhraseCodec::length(std::string_view bytes) const {
  size_t n = 0;
  while (at(bytes.data() + n * width_) != end_) ++n;
  return n;
}

void PhraseCodec::decode(std::string_view bytes, size_t length,
                         std::vector<Symbol>& symbols) const {
  for (size_t i = 0; i < length; ++i) {
    const uint32_t value = at(bytes.data() + i * width_);
    if (value > order_.size()) {
      symbols.push_back(kNonterminal | static_cast<Symbol>(value - order_.size() - 1));
    } else {
      symbols.push_back(value - (value > end_ ? 1 : 0));
    }
  }
}

}  // namespace hopefear::rules
