// Word translation probabilities from an aligned text, as in Moses: every alignment point counts
// for its two words, a word without a point is aligned to NULL on the other side. [koehn2003]
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.hpp"
#include "base/io.hpp"
#include "base/probing_table.hpp"
#include "rules/vocabulary.hpp"

namespace hopefear::rules {

// A point of an inner alignment: positions in a rule's source and target side.
struct Link {
  uint8_t source, target;
  bool operator==(const Link&) const = default;
};

class Lexicon {
 public:
  void add(Word source, Word target);  // kNoWord is NULL; not both
  // count(source, target) / count of the given word; 1 for an unseen pair, as in Moses.
  double target_given_source(Word source, Word target) const;
  double source_given_target(Word source, Word target) const;

  // The natural log of the product over target words of the mean of p(e|f) over the words it is
  // linked to, or of p(e|NULL); and with the sides exchanged. Nonterminals are ignored. Koehn et
  // al. 2003, section 3.3 [koehn2003].
  double target_weight(std::span<const Word> source, std::span<const Word> target,
                       std::span<const Link> links) const;
  double source_weight(std::span<const Word> source, std::span<const Word> target,
                       std::span<const Link> links) const;

  // Moses's lex files: "predicted given probability" per line, sorted by given, then predicted.
  // lex.f2e has target words predicted from source words, lex.e2f the other way round.
  void write(ByteSink& sink, bool predict_target, const WordNumbers& source,
             const WordNumbers& target) const;
  // Calls visit(source, target, count) for all pairs in unspecified order; kNoWord is NULL.
  template <typename Visit>
  void visit(Visit&& visit) const {
    counts_.for_each([&](uint64_t key, uint64_t count) {
      visit(static_cast<Word>(~key >> 32), static_cast<Word>(~key), count);
    });
  }
  size_t size() const { return counts_.size(); }
  uint64_t bytes() const;  // memory held

 private:
  struct Mixed {
    uint64_t operator()(uint64_t key) const { return mix64(key); }
  };
  // Inverted, so that 0 would be the pair of two NULLs, which does not occur.
  static uint64_t key_of(Word source, Word target) { return ~(uint64_t{source} << 32 | target); }
  uint64_t joint(Word source, Word target) const {
    const uint64_t* const count = counts_.find(key_of(source, target));
    return count == nullptr ? 0 : *count;
  }
  ProbingMap<uint64_t, Mixed, 5> counts_;
  // Per word the number of its pairs.
  std::vector<uint64_t> source_total_, target_total_;
  uint64_t source_null_ = 0, target_null_ = 0;
};

}  // namespace hopefear::rules
