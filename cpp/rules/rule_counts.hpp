// What is known of one phrase pair or rule before it is scored: counts, orientations, alignment.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/scratch_stream.hpp"
#include "rules/phrases.hpp"
#include "rules/rule.hpp"

namespace hopefear::rules {

struct RuleCounts {
  std::vector<Symbol> source, target;  // numbers of the table
  // Of a hierarchical rule: sentences, each as often as it has the rule with another inner
  // alignment.
  uint32_t occurrences = 0;
  double joint = 0;  // the sum of their counts
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
  // `links` as bytes: target, source, target, source, …
  void add(std::string_view links, double count);
  // The winners: those with the highest count. Ties go to the larger one, compared as vectors over
  // target words (for `links`) or source words (`source_links`) of sorted lists of what each is
  // linked to.
  void decide(RuleCounts& pair) const;

 private:
  struct Vote {
    std::vector<Link> links;
    double count;
  };
  std::vector<Vote> votes_;  // the first size_ are in use; the others keep their memory
  size_t size_ = 0;
};

}  // namespace hopefear::rules
