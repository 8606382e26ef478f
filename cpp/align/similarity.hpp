// Similar spellings as evidence of translation: names, numbers and cognates.
//
// A pair of words that are equal, hold the same digits or are spelled similarly begins with
// `weight` pseudo-links. They decide about rare words and are outvoted by the links of frequent
// ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/word_numbers.hpp"

namespace hopefear::align {

// The spelling of a word as it is compared.
struct Spelling {
  explicit Spelling(std::string_view word);
  std::vector<uint16_t> letters;  // hashed code points, below kLetters
  std::string digits;             // those in the word, in order
  static constexpr size_t kLetters = 1024;
};

class Similarity {
 public:
  Similarity(const WordNumbers& source, const WordNumbers& target, double weight);
  // The pseudo-links of a source word with some target words. Thread-safe.
  void pseudo_links(uint32_t s, std::span<const uint32_t> targets, float* out) const;

 private:
  const WordNumbers &source_, &target_;
  std::vector<Spelling> source_spellings_, target_spellings_;
  float weight_;
};

// The length of the longest common subsequence of both spellings over the longer length
// [melamed1999]; 0 for words shorter than four letters or longer than 64, and where the lengths
// alone rule out kSimilar.
inline constexpr double kSimilar = 0.6;
double similarity(const Spelling& a, const Spelling& b);

}  // namespace hopefear::align
