// The best monotone translation of spans of the source, out of context: future costs and their
// strings.  [liu2014, algorithm 1]
//
// best(i, j) = the best of: the best option of [i, j); an option of [i, k) and best(k, j).
// Restricting the first part to one option loses nothing compared with splitting anywhere, and
// costs O(longest option) per span instead of O(span).
//
// Under a distortion limit D the uncovered part of a derivation consists of gaps of at most D words
// and the rest of the sentence (see PhraseSearch), so only spans of up to D words and those that
// reach the end are stored: O(n D) instead of O(n^2), which makes long sentences possible.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "decode/phrase_options.hpp"

namespace hopefear::decode {

class SpanTable {
 public:
  // Stores spans of up to `width` words, and all that end with the sentence. The options must
  // outlive the table.
  SpanTable(const OptionTable& options, int32_t width);

  int32_t length() const { return length_; }
  int32_t width() const { return width_; }
  bool has(int32_t begin, int32_t end) const {
    return begin >= 0 && begin < end && end <= length_ && (end == length_ || end - begin <= width_);
  }
  // Only for spans with has().
  double score(int32_t begin, int32_t end) const { return entry(begin, end).score; }
  // Calls f(option number) for the options that give the score, from left to right; never for a
  // span without a translation.
  template <typename F>
  void for_options(int32_t begin, int32_t end, F&& f) const {
    while (begin < end) {
      const Entry& best = entry(begin, end);
      if (best.score == -std::numeric_limits<double>::infinity()) break;
      f(best.option);
      begin = best.first;
    }
  }
  std::vector<int32_t> words(int32_t begin, int32_t end) const;

 private:
  struct Entry {
    double score;
    int32_t first;    // where its first option ends
    uint32_t option;  // that option
  };
  const Entry& entry(int32_t begin, int32_t end) const {
    return end == length_ ? suffixes_[static_cast<size_t>(begin)]
                          : spans_[static_cast<size_t>(begin) * static_cast<size_t>(width_) +
                                   static_cast<size_t>(end - begin - 1)];
  }
  Entry best(int32_t begin, int32_t end) const;
  const OptionTable* options_;
  int32_t length_, width_;
  std::vector<Entry> spans_, suffixes_;
};

}  // namespace hopefear::decode
