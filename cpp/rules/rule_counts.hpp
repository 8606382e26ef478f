// The counts, orientations and inner alignment of a phrase pair or rule, before it is scored.
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
  // For a hierarchical rule: the number of (sentence, inner alignment) pairs that it occurs with.
  uint32_t occurrences = 0;
  double joint = 0;  // the sum of their counts
  uint32_t sentence = kManySentences;
  std::array<uint32_t, 3> backward = {}, forward = {};  // by Orientation
  // The most frequent inner alignment, ordered by target, then source. Of several, Moses uses one
  // (`links`) for the table and lex(e|f), and possibly another (`source_links`) for lex(f|e).
  std::vector<Link> links, source_links;
  uint32_t label = 0;              // of the left-hand side, if rules have labels
  std::vector<uint16_t> fragment;  // the most frequent piece of tree, if rules have any

  void write(ScratchStream& stream) const;
  void read(ScratchStream& stream);
};

// The inner alignments of a pair with their counts.
class AlignmentVotes {
 public:
  void clear() { size_ = 0; }
  // `links` as bytes: target, source, target, source, …
  void add(std::string_view links, double count);
  // Sets the links of `pair` to the alignments with the highest count. Ties go to the larger one,
  // compared as vectors over target words (for `links`) or source words (for `source_links`) of the
  // sorted lists of words that each is linked to.
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
