// Writes a language model as ARPA text.
#pragma once

#include <cstdint>
#include <future>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io.hpp"

namespace hopefear::lm {

// The constructor writes the header; then call begin_order() and add() for every order, then
// finish(). Lines are collected in batches and written in order; while one round of batches is
// filled, the other threads format the previous round.
class ArpaWriter {
 public:
  // `memory`: limit in bytes, at least the longest line.
  ArpaWriter(ByteSink& sink, std::span<const uint64_t> ngrams_per_order, size_t threads,
             size_t memory);
  // Orders count from 1 and come in sequence.
  void begin_order(int order);
  // An n-gram is its first word and, unless it is a unigram, the rest (words separated by blanks).
  // Probability and back-off weight are linear; they are written as log10, at most 0 (the
  // probability), 0 as -99. The highest order has no back-off weights.
  void add(float probability, std::string_view first, std::string_view rest, float back_off);
  void finish();

 private:
  struct Line {
    size_t text_end;  // end of its words, which begin at the end of the previous line
    float probability, back_off;
  };
  // A cache of formatted back-off weights: few values are frequent, since most contexts were seen
  // once.
  struct Remembered {
    float value = -1;
    uint32_t size = 0;
    char text[24];
  };
  struct Batch {
    std::vector<Line> lines;
    std::string words;
    std::string output;
    std::vector<Remembered> remembered;
  };
  struct Round {
    std::vector<Batch> batches;
    size_t filling = 0;  // the batch that takes the next line
  };
  static void format(Batch& batch, bool back_offs);
  void end_round();  // passes the current round to the other threads and begins the next one
  void write(Round& round);  // and empties it
  void flush();              // writes both rounds

  ByteSink& sink_;
  std::vector<uint64_t> counts_;
  size_t threads_;
  int order_ = 0;
  size_t batch_lines_, batch_bytes_;
  Round rounds_[2];
  int current_ = 0;
  std::future<void>
      formatting_;  // of the other round; the last member, so that it is destroyed first
};

}  // namespace hopefear::lm
