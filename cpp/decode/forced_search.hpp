// Forced decoding: all derivations of a sentence that yield a reference, by exact search.  [yu2013]
//
// A node is what PhraseSearch compares (covered words, where the last phrase was, its forward
// reordering scores, the states of templates) and the place in the reference. Language model states
// follow from that place. Differs: errata yu2013 2.2: it is the place and not the last word, which
// may occur twice.
//
// First the phrases are matched with the places of the reference, then bins are filled as in
// PhraseSearch, without a beam. A node is not made if a source word could no longer be translated:
// `needed_` knows for each place the words that no phrase translates from there on. At last only
// what leads to a whole derivation is kept (errata yu2013 3.1): of a sentence, all words covered
// and all of a reference; of a prefix, its words covered exactly and the beginning of a reference.
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
  // None of them is owned. The options' words are numbered as the references'.
  ForcedSearch(const PhraseModel& model, const OptionTable& options, const ReferenceTrie& trie,
               DistortionRule distortion, uint64_t most_nodes);

  enum class Outcome { kFound, kNone, kTooMany };
  // Derivations of the whole sentence and a whole reference.
  Outcome run();
  // Derivations that cover exactly the first words of the sentence and yield the beginning of a
  // reference: of the longest such prefix of at least `shortest` words, which may be all words.
  Outcome run_prefix(int32_t shortest);

  // After a run that found something.
  SearchGraph graph() const;
  int32_t source_words() const { return static_cast<int32_t>(bins_.size()) - 1; }
  int32_t target_words() const;  // of the longest string that is derived
  // Nodes that were made, all runs together.
  uint64_t nodes_made() const { return made_; }

 private:
  struct Match {  // an option that leads from one place to another
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
  const size_t lms_, place_at_, state_size_;  // the place is behind what PhraseSearch has
  const Weights no_weights_;
  features::Sink sink_;
  CoverageTable coverage_;
  bool prefix_ = false;
  uint64_t made_ = 0;
  std::vector<lm::State> lm_states_;  // by place and language model
  std::vector<double> lm_sums_;       // log10 from the beginning to a place, likewise
  std::vector<Match> matches_;
  std::vector<uint32_t> matches_begin_;  // by place
  std::vector<uint64_t> needed_;         // by place: bits of source words
  std::vector<SearchBin> bins_;
  std::vector<std::unique_ptr<OpenBin>> open_;
  std::vector<std::byte> state_;
  std::vector<float> values_;
};

}  // namespace hopefear::decode
