#include "learn/candidates.hpp"

#include <cstring>
#include <string>

#include "base/hash.hpp"
#include "base/interrupt.hpp"

namespace hopefear {

void CollectedRows::add(std::string_view text, const SparseVector& features) {
  uint64_t key = hash64(text);
  const auto row_ids = features.ids();
  const auto row_values = features.values();
  for (size_t i = 0; i < features.size(); ++i) {
    uint32_t bits;
    std::memcpy(&bits, &row_values[i], sizeof bits);
    key = combine64(combine64(key, row_ids[i]), bits);
  }
  keys.push_back(key);
  ids.insert(ids.end(), row_ids.begin(), row_ids.end());
  values.insert(values.end(), row_values.begin(), row_values.end());
  begin.push_back(static_cast<int64_t>(ids.size()));
}

CollectedRows collect_rows(std::span<const Derivation* const> derivations) {
  CollectedRows rows;
  rows.keys.reserve(derivations.size());
  rows.begin.reserve(derivations.size() + 1);
  std::string text;
  for (const Derivation* derivation : derivations) {
    poll_interrupt();
    text.clear();
    append_words(words_of(*derivation), *derivation->forest.vocabulary(), text);
    rows.add(text, features_of(*derivation));
  }
  return rows;
}

void append_words(std::span<const int32_t> words, const Vocabulary& vocabulary, std::string& text) {
  for (const int32_t word : words) {
    if (!text.empty()) text += ' ';
    text += vocabulary.word(word);
  }
}

}  // namespace hopefear
