// Counts the distinct n-grams of the highest order in text, sorted.
//
// Suffix order: n-grams are compared last word first, by word ids. In this order n-grams with the
// same ending are contiguous, so one scan also visits the n-grams of all lower orders, each with
// all its left neighbours (estimate_adjust.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/io.hpp"
#include "base/word_numbers.hpp"
#include "lm/estimate_storage.hpp"

namespace hopefear::lm::estimation {

inline constexpr int kMaxOrder = 6;

using WordId = uint32_t;  // the top bit is used as a flag
inline constexpr WordId kUnknown = 0, kBegin = 1, kEnd = 2, kFirstWord = 3;

// The N words up to a position of the text, last word first. Words before <s> are 0.
template <int N>
struct Ngram {
  std::array<WordId, N> words;
  uint32_t count;

  static bool before(const Ngram& a, const Ngram& b) { return a.words < b.words; }
  bool absorb(const Ngram& other) {
    if (words != other.words) return false;
    count += other.count;
    return true;
  }
};

// Distinct n-grams in suffix order, in batches.
template <int N>
class NgramStream {
 public:
  virtual ~NgramStream() = default;
  virtual std::span<const Ngram<N>> next_batch() = 0;  // valid until the next call; empty: the end
};

// Reads texts, gives ids to their words, and collects sentences in the workspace; whenever it is
// full, its n-grams are written to disk as a sorted run.
template <int N>
class Counter {
 public:
  struct Settings {
    bool skip_symbols;        // <s>, </s>, <unk> in the text are white space instead of an error
    size_t vocabulary_bytes;  // the vocabulary may not become larger
    size_t threads;
  };
  // `vocabulary` must contain the words below kFirstWord.
  Counter(const Pages& workspace, WordNumbers& vocabulary, const Settings& settings, Disk& disk);

  // `progress` is called with the number of tokens so far.
  void add(ByteSource& text, const std::function<void(uint64_t)>& progress);
  // After the last text. The stream uses the workspace and this counter.
  std::unique_ptr<NgramStream<N>> finish();

  uint64_t tokens() const { return tokens_; }  // words, without <s> and </s>
  uint64_t sentences() const { return sentences_; }

 private:
  void put(WordId word) {
    if (size_ == tokens_space_.size()) spill();
    tokens_space_[size_++] = word;
  }
  void begin_sentence() {
    for (int i = 0; i < N - 2; ++i) put(kUnknown);
    if (N > 1) put(kBegin);
  }
  void end_sentence();
  void word(std::string_view word, const ByteSource& text, uint64_t line);
  size_t vocabulary_bytes() const;
  void sort_block();
  void spill();

  std::span<WordId> tokens_space_;    // the block: N - 1 words of what came before, then its own
  std::span<uint32_t> ends_, spare_;  // places in the block where an n-gram ends; same size
  size_t size_ = 0;                   // words in the block
  size_t ends_size_ = 0;
  WordNumbers& vocabulary_;
  Settings settings_;
  const Pages& workspace_;
  uint64_t tokens_ = 0, sentences_ = 0;
  RunMerger<Ngram<N>> runs_;
};

extern template class Counter<1>;
extern template class Counter<2>;
extern template class Counter<3>;
extern template class Counter<4>;
extern template class Counter<5>;
extern template class Counter<6>;

}  // namespace hopefear::lm::estimation
