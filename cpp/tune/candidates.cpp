#include "tune/candidates.hpp"

#include <cstring>
#include <string>

#include "base/hash.hpp"
#include "base/interrupt.hpp"

namespace hopefear {

CollectedRows collect_rows(std::span<const Derivation* const> derivations) {
  CollectedRows rows;
  rows.keys.reserve(derivations.size());
  rows.begin.reserve(derivations.size() + 1);
  std::string text;
  for (const Derivation* derivation : derivations) {
    poll_interrupt();
    text.clear();
    for (const int32_t word : words_of(*derivation)) {
      if (!text.empty()) text += ' ';
      text += derivation->forest.vocabulary()->word(word);
    }
    uint64_t key = hash64(text);
    const SparseVector features = features_of(*derivation);
    const auto ids = features.ids();
    const auto values = features.values();
    for (size_t i = 0; i < features.size(); ++i) {
      uint32_t bits;
      std::memcpy(&bits, &values[i], sizeof bits);
      key = combine64(combine64(key, ids[i]), bits);
    }
    rows.keys.push_back(key);
    rows.ids.insert(rows.ids.end(), ids.begin(), ids.end());
    rows.values.insert(rows.values.end(), values.begin(), values.end());
    rows.begin.push_back(static_cast<int64_t>(rows.ids.size()));
  }
  return rows;
}

}  // namespace hopefear
