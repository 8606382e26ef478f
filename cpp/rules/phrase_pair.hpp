// What is known of one phrase pair before it is scored: counts, orientations, inner alignment.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rules/phrases.hpp"
#include "rules/record_sorter.hpp"
#include "rules/rule.hpp"

namespace hopefear::rules {

struct PhrasePair {
  std::vector<Word> source, target;  // numbers of the table
  uint32_t joint = 0;                // occurrences
  uint32_t sentence = kManySentences;
  std::array<uint32_t, 3> backward = {}, forward = {};  // by Orientation
  // The most frequent inner alignment, ordered by target, then source. Where several are, Moses
  // takes one for the table and for lex(e|f), and perhaps another for lex(f|e).
  std::vector<Link> links, source_links;

  void write(ScratchStream& stream) const;
  void read(ScratchStream& stream);
};

// The inner alignments of a pair and how often each was seen.
class AlignmentVotes {
 public:
  void clear() { size_ = 0; }
  void add(std::string_view links);  // as bytes: target, source, target, source, …
  // The winners. Ties go to the larger one, compared as vectors over target words (for `links`)
  // or source words (`source_links`) of sorted lists of what each is linked to.
  void decide(PhrasePair& pair) const;

 private:
  struct Vote {
    std::vector<Link> links;
    uint32_t count;
  };
  std::vector<Vote> votes_;  // the first size_ are in use; the others keep their memory
  size_t size_ = 0;
};

}  // namespace hopefear::rules
