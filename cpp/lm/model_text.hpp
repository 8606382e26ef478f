// Scores of text: sentences from memory, files for perplexity, streams for 'lm query'.
//
// A sentence is a line; its words are separated by blanks, tabs, CR or NUL, as lmplz separates
// them; an empty line is the empty sentence. <s> and </s> inside a text are looked up as words, as
// KenLM's query does; <unk> counts as unknown. Totals are log10, as in ARPA files and KenLM.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/io.hpp"
#include "lm/model.hpp"

namespace hopefear::lm {

struct Boundaries {
  bool bos = true;  // start from the state after <s>, not from the empty one
  bool eos = true;  // score </s> at the end
};

struct SentenceScore {
  double log10 = 0;
  double log10_unknown = 0;  // the part of the unknown words
  uint64_t tokens = 0;       // </s> included if it was scored
  uint64_t unknown = 0;
};

struct WordScore {
  std::string_view word;
  WordId id;
  float log10;
  unsigned length;
};

SentenceScore score_words(const Model& model, const std::vector<WordId>& words,
                          Boundaries boundaries);
// One sentence; a newline in it is white space.
SentenceScore score_sentence(const Model& model, std::string_view text, Boundaries boundaries);

// Word by word, with </s> last if it is asked for. `word` points into the text or the model.
std::vector<WordScore> score_each(const Model& model, const std::vector<std::string_view>& words,
                                  Boundaries boundaries);
std::vector<std::string_view> split_words(std::string_view text);

struct TextScore {
  uint64_t sentences = 0;
  SentenceScore sum;
};

// Reads and scores a text as a stream. The sum is made in the order of the sentences, so it does
// not depend on `threads`. `progress` gets the number of sentences.
TextScore score_text(const Model& model, ByteSource& source, Boundaries boundaries, size_t threads,
                     const std::function<void(uint64_t)>& progress);

// A line "Total: LOG10 OOV: COUNT" for each line of the source, with `each_word` preceded by
// "WORD=ID LENGTH LOG10<TAB>" for every word, which is KenLM's format. What has been read is
// answered before more is read.
void query_text(const Model& model, ByteSource& source, ByteSink& sink, Boundaries boundaries,
                bool each_word);

}  // namespace hopefear::lm
