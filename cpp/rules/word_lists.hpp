// The most frequent words, aligned pairs and unaligned words of a word-aligned text: the lists that
// feature templates distinguish.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/io.hpp"

namespace hopefear::rules {

struct CountedWord {
  std::string word, other;  // `other`: the target word of a pair, else empty
  uint64_t count;
};

// Most frequent first, equal counts in the order of the words.
struct WordLists {
  std::vector<CountedWord> pairs;              // linked words: alignment points
  std::vector<CountedWord> source, target;     // words
  std::vector<CountedWord> inserted, deleted;  // target, source words without a link
};

// Counts the lists, with at most `limit` entries each. Errors as in AlignedCorpus. One pass over
// the text and one over a scratch file; memory grows with the number of distinct pairs.
WordLists count_word_lists(ByteSource& source, ByteSource& target, ByteSource& alignment,
                           size_t limit, const std::string& scratch_directory,
                           const std::function<void(uint64_t)>& progress);

}  // namespace hopefear::rules
