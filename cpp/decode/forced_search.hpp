// Forced decoding: all derivations of a sentence that yield a reference, by exact search.  [yu2013]
//
// The signature of a node is that of PhraseSearch (covered words, last phrase, its forward
// reordering scores, the states of templates) and the position in the reference, which determines
// the states of language models. Differs: errata yu2013 2.2: the position and not the last word,
// which may occur twice.
//
// First phrases are matched with positions of the reference, then bins are filled as in
// PhraseSearch, without a beam. A node is not made if an uncovered source word could no longer be
// translated: `needed_` has for each position the words that no phrase translates from there on.
// Finally only nodes that lead to a complete derivation are kept (errata yu2013 3.1): for a
// sentence, one that covers all words and yields a complete reference; for a prefix, one that
// covers exactly its words and yields a prefix of a reference.
//
// The number of nodes is exponential in the distortion limit and linear in the sentence; without a
// limit it is exponential in the sentence (section 5.2), so there is a limit on nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "decode/coverage.hpp"
#include "decode/open_bin.hpp"
#include "decode/phrase_model.hpp"
#include "decode/phrase_options.hpp"
#include "decode/phrase_search.hpp"
#include "decode/reference_trie.hpp"

namespace hopefear::decode {

class ForcedSearch {
 public:
  // Owns none of its arguments. Options and references share word numbers.
  ForcedSearch(const PhraseModel& model, const OptionTable& options, const ReferenceTrie& trie,
               DistortionRule distortion, uint64_t most_nodes);

  enum class Outcome { kFound, kNone, kTooMany };
  // Finds the derivations of the complete sentence and a complete reference.
  Outcome run();
  // Finds the derivations that cover exactly a prefix of the sentence and yield a prefix of a
  // reference: for the longest such prefix of at least `shortest` words, possibly the complete
  // sentence.
  Outcome run_prefix(int32_t shortest);

  // After a run that returned kFound.
  SearchGraph graph() const;
  int32_t source_words() const { return static_cast<int32_t>(bins_.size()) - 1; }
  int32_t target_words() const;  // of the longest derived string
  // Number of nodes made in all runs.
  uint64_t nodes_made() const { return made_; }

 private:
  struct Match {  // an option that leads from one position to another
    uint32_t option;
    ReferenceTrie::Node to;
  };

  void match_options();
  void find_needed();
  Outcome fill();
  bool expand(int32_t covered);
  bool can_cover(uint32_t coverage, const PhraseOption& option) const;
  bool can_complete(uint32_t coverage, const PhraseOption& option, ReferenceTrie::Node to) const;
  void evaluate(const SearchBin& from, uint32_t index, const Match& match, OpenBin& into);
  ReferenceTrie::Node place_of(const SearchBin& bin, uint32_t index) const;
  bool is_end(const SearchBin& bin, uint32_t index) const;
  void keep_complete();

  const PhraseModel& model_;
  const OptionTable& options_;
  const ReferenceTrie& trie_;
  const DistortionRule distortion_;
  const uint64_t most_nodes_;
  const int32_t length_;
  const size_t lms_, place_at_,
      state_size_;  // place_at_: offset of the position, after the state of PhraseSearch
  const Weights no_weights_;
  features::Sink sink_;
  CoverageTable coverage_;
  bool prefix_ = false;
  uint64_t made_ = 0;
  std::vector<lm::State> lm_states_;  // by position and language model
  std::vector<double> lm_sums_;       // log10 of the words up to a position, likewise
  std::vector<Match> matches_;
  std::vector<uint32_t> matches_begin_;  // by position
  std::vector<uint64_t> needed_;         // by position: bits of source words
  std::vector<SearchBin> bins_;
  std::vector<std::unique_ptr<OpenBin>> open_;
  std::vector<std::byte> state_;
  std::vector<float> values_;
};

}  // namespace hopefear::decode
