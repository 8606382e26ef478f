// A word-aligned bitext as numbers in a scratch file, so that a text of any size, also from a pipe,
// can be read repeatedly, block by block and by several threads. Only the words, the lexicon and
// the positions of blocks are in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/io.hpp"
#include "rules/lexicon.hpp"
#include "rules/vocabulary.hpp"

namespace hopefear::rules {

struct Point {
  uint32_t source, target;
  auto operator<=>(const Point&) const = default;
};

struct SentencePair {
  std::vector<Word> source, target;  // numbers of the corpus's collectors
  std::vector<Point> points;         // sorted, each once
};

class AlignedCorpus {
 public:
  using Visit = std::function<void(uint64_t, const SentencePair&)>;
  // Reads all three sources and counts the lexicon. InputError for lines that are not UTF-8,
  // malformed points or points outside of the sentences, and files with different numbers of lines.
  AlignedCorpus(ByteSource& source, ByteSource& target, ByteSource& alignment,
                const std::string& scratch_directory,
                const std::function<void(uint64_t)>& progress);

  uint64_t sentences() const { return sentences_; }
  size_t blocks() const { return blocks_.size(); }
  // Of a block; of the number of blocks: the number of sentences.
  uint64_t first_sentence(size_t block) const {
    return block == blocks_.size() ? sentences_ : blocks_[block].first;
  }
  // Calls visit(sentence number, pair) for the sentence pairs of a block. Thread-safe.
  void read(size_t block, const Visit& visit) const {
    visit_block(first_sentence(block), data(block), visit);
  }
  // A block as numbers, which can be sent to another process. Thread-safe.
  std::vector<uint32_t> data(size_t block) const;
  // Calls visit(sentence number, pair) for the sentence pairs in the data of a block.
  static void visit_block(uint64_t first, std::span<const uint32_t> data, const Visit& visit);

  const WordNumbers& source_words() const { return source_words_; }
  const WordNumbers& target_words() const { return target_words_; }
  const Lexicon& lexicon() const { return lexicon_; }
  uint64_t bytes() const;  // memory held

 private:
  struct Block {
    uint64_t offset, first;  // in the file; number of its first sentence
  };
  void add(const SentencePair& pair);
  void finish_block();
  ScratchFile file_;
  std::vector<Block> blocks_;
  std::vector<uint32_t> pending_;
  uint64_t pending_first_ = 0;
  uint64_t sentences_ = 0;
  WordNumbers source_words_, target_words_;
  Lexicon lexicon_;
};

// The points of a line "0-0 1-2", sorted, each once. `place` is "file:line".
void parse_points(std::string_view line, size_t source_size, size_t target_size,
                  const std::string& place, std::vector<Point>& points);

}  // namespace hopefear::rules
