// Phrase-based decoding of one sentence: options, search, forest. Everything here is const and has
// no state of its own; any number of threads may decode with one model.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/sparse_vector.hpp"
#include "base/weights.hpp"
#include "decode/phrase_model.hpp"
#include "decode/phrase_options.hpp"
#include "decode/phrase_search.hpp"
#include "decode/span_table.hpp"
#include "features/sink.hpp"
#include "forest/forest.hpp"

namespace hopefear::decode {

// Longer sentences are refused: one is held in memory as a whole.
inline constexpr size_t kLongestSentence = 10000;
// Without any distortion limit, when future costs and jumps grow with the square of the length.
inline constexpr size_t kLongestUnlimited = 2000;

struct PhraseSettings {
  SearchLimits limits;
  size_t table_limit;  // options of a source phrase, 0: all
  // Beyond so many words beam and pop limit shrink in proportion, and no jump is wider than this,
  // so that time and memory of a sentence hardly grow with its length; 0: never.
  size_t long_sentence;
};

// The limits for a sentence of so many words.
SearchLimits limits_for(const PhraseSettings& settings, size_t words);

// The best string of each span, kept alive with the options that it points to.
struct SpanResult {
  std::unique_ptr<const OptionTable> options;
  std::unique_ptr<const SpanTable> table;
};

struct PhraseResult {
  Forest forest;
  SpanResult spans;
};

// `log` receives the names of features that templates composed; hand them to `names`, which the
// forest refers to, where no other thread uses it. Null: they stay without names (name_features).
// `summed`: the feature that has the score of all templates in their place; 0: none.
PhraseResult decode(const PhraseModel& model, const Weights& weights, const PhraseInput& input,
                    const PhraseSettings& settings, std::shared_ptr<FeatureNames> names,
                    features::NameLog* log, FeatureId summed = 0);

struct ForcedSettings {
  bool prefix;              // where a sentence has no derivation, its longest prefix that has one
  int32_t shortest_prefix;  // in words
  uint64_t most_nodes;      // of the search
  size_t table_limit;       // options of a source phrase, best by the weights; 0: all
};

struct ForcedResult {
  Forest forest;                               // without nodes if nothing was found
  bool complete = false;                       // it is of the whole sentence
  int32_t source_words = 0, target_words = 0;  // covered; of the longest string
  uint64_t nodes = 0;                          // that search made
  bool too_many = false;                       // it gave up
};

// All derivations that yield one of the references: see ForcedSearch. The distortion limit is that
// of `settings`, no other limit of search applies. Weights only choose options under a table limit.
ForcedResult force(const PhraseModel& model, const Weights& weights, const PhraseInput& input,
                   std::span<const std::vector<std::string>> references,
                   const PhraseSettings& settings, const ForcedSettings& forced,
                   std::shared_ptr<FeatureNames> names, features::NameLog* log);

// The spans alone, for `width` words (and what reaches the end); -1: as search has them.
SpanResult best_spans(const PhraseModel& model, const Weights& weights, const PhraseInput& input,
                      const PhraseSettings& settings, int32_t width);

// A phrase of a derivation, in the order of the target.
struct PhraseUse {
  int32_t begin = 0, end = 0;
  std::vector<std::string> target;
};

// The features of a derivation, computed word by word without anything that search keeps: what
// tests compare search with. InputError if the phrases are none of the model's, overlap or leave a
// word out. Limits of search do not apply.
SparseVector score_derivation(const PhraseModel& model, const PhraseInput& input,
                              std::span<const PhraseUse> phrases, features::NameLog& log);

// Logs the names of the features that a derivation of a forest has, given by its edges, the last
// one first; it may end anywhere. For forests that were made without names: there are far more
// features in them than are ever learned.
void name_features(const PhraseModel& model, const PhraseInput& input, const Forest& forest,
                   std::span<const uint32_t> edges, features::NameLog& log);

// phrase_forest.cpp. `log` gets the names of what templates fired on its edges; it may be null.
// With `summed`, the graph of a search that kept scores.
Forest make_forest(const PhraseModel& model, const OptionTable& options, const SearchGraph& graph,
                   const std::string& id, std::shared_ptr<FeatureNames> names,
                   features::NameLog* log, features::Memo& memo, FeatureId summed = 0);

}  // namespace hopefear::decode
