// The references of a test set, prepared once so that any number of hypotheses can be counted
// against them. The base class of the reference sets of all metrics.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "base/probing_table.hpp"
#include "metrics/ngram_table.hpp"
#include "metrics/text_units.hpp"

namespace hopefear {

// Mean reference lengths are counted in 1/840 of a word: a whole number for up to eight references.
inline constexpr int32_t kLengthUnit = 840;

inline int32_t mean_length(std::span<const uint32_t> lengths) {
  const uint64_t sum = std::accumulate(lengths.begin(), lengths.end(), uint64_t{0});
  return static_cast<int32_t>((2 * kLengthUnit * sum + lengths.size()) / (2 * lengths.size()));
}

// Numbers words from 1 in the order of insertion. Stores their 64-bit hashes only (WordNumbers
// keeps the bytes): among ten million words there is a collision with a probability of 3 in a
// million.
class WordIndex {
 public:
  WordId intern(std::string_view word) {
    return ids_.try_emplace(key_of(word), static_cast<WordId>(size() + 1)).first;
  }
  WordId find(std::string_view word) const {  // kNoReferenceWord if unknown
    const WordId* const id = ids_.find(key_of(word));
    return id == nullptr ? kNoReferenceWord : *id;
  }
  size_t size() const { return ids_.size(); }

 private:
  static uint64_t key_of(std::string_view word) {
    const uint64_t hash = hash64(word);
    return hash == 0 ? 1 : hash;
  }
  ProbingMap<WordId> ids_;
};

// A hypothesis: a line (valid UTF-8, not owned) or words already numbered by the set.
struct Hypothesis {
  std::string_view line;
  std::span<const WordId> words;
  bool is_line = true;
};

// Counts hypotheses one by one, with its own scratch memory; one per thread. Must not outlive its
// set.
class Counter {
 public:
  virtual ~Counter() = default;
  // Writes columns() numbers to `row`. `words` have the set's numbers.
  virtual void count(size_t sentence, std::span<const WordId> words, int32_t* row) = 0;
};

class ReferenceSet {
 public:
  explicit ReferenceSet(TextUnit text_unit) : unit_(text_unit) {}
  virtual ~ReferenceSet() = default;
  ReferenceSet(const ReferenceSet&) = delete;
  ReferenceSet& operator=(const ReferenceSet&) = delete;

  // Adds the references of the next sentence, numbered by intern(); at least one.
  virtual void add_sentence(std::span<const std::vector<WordId>> references) = 0;
  virtual WordId intern(std::string_view word) { return index_.intern(word); }
  // The number of a word, kNoReferenceWord for one that is in no reference.
  virtual WordId find(std::string_view word) const { return index_.find(word); }

  virtual size_t columns() const = 0;
  virtual std::unique_ptr<Counter> counter() const = 0;

  TextUnit unit() const { return unit_; }
  size_t sentences() const { return begin_.size() - 1; }
  std::span<const uint32_t> lengths(size_t sentence) const {  // of its references, in units
    return std::span(lengths_).subspan(begin_[sentence], begin_[sentence + 1] - begin_[sentence]);
  }

  // Writes row i: hypothesis i against the references of sentences[i]. Does not depend on the
  // number of threads.
  void count(std::span<const Hypothesis> hypotheses, std::span<const int32_t> sentences,
             size_t threads, int32_t* rows) const;

 protected:
  void add_lengths(std::span<const std::vector<WordId>> references);

 private:
  TextUnit unit_;
  WordIndex index_;
  std::vector<uint32_t> lengths_;
  std::vector<size_t> begin_{0};  // of a sentence in lengths_
};

}  // namespace hopefear
