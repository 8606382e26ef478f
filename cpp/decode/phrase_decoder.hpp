// Phrase-based decoding of one sentence: options, search, forest. All functions are thread-safe:
// any number of threads may decode with one model.
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

// Longer sentences are refused, since a sentence's search is held in memory.
inline constexpr size_t kLongestSentence = 10000;
// The same without a distortion limit, where the number of future costs and jumps is quadratic in
// the length.
inline constexpr size_t kLongestUnlimited = 2000;

struct PhraseSettings {
  SearchLimits limits;
  size_t table_limit;  // options per source phrase; 0: all
  // Beyond this number of words the beam and pop limit shrink in proportion and it is the
  // distortion limit, so that time and memory of a sentence hardly grow with its length; 0: no such
  // limit.
  size_t long_sentence;
};

// The limits for a sentence of this number of words.
SearchLimits limits_for(const PhraseSettings& settings, size_t words);

// The best translation of each span, and the options that it points to.
struct SpanResult {
  std::unique_ptr<const OptionTable> options;
  std::unique_ptr<const SpanTable> table;
};

struct PhraseResult {
  Forest forest;
  SpanResult spans;
};

// Decodes a sentence. `log` receives the names of features that templates composed; move them to
// `names`, which the forest refers to, while no other thread uses it. Null: these features stay
// without names (see sparse_features). `summed`: a feature that replaces those of all templates by
// their score; 0: none.
PhraseResult decode(const PhraseModel& model, const Weights& weights, const PhraseInput& input,
                    const PhraseSettings& settings, std::shared_ptr<FeatureNames> names,
                    features::NameLog* log, FeatureId summed = 0);

struct ForcedSettings {
  bool prefix;              // if a sentence has no derivation, use its longest prefix that has one
  int32_t shortest_prefix;  // in words
  uint64_t most_nodes;      // of the search
  size_t table_limit;       // options per source phrase, the best by the weights; 0: all
};

struct ForcedResult {
  Forest forest;                               // without nodes if there is no derivation
  bool complete = false;                       // whether it covers the complete sentence
  int32_t source_words = 0, target_words = 0;  // covered; of the longest derived string
  uint64_t nodes = 0;                          // made by the search
  bool too_many = false;                       // the search reached its limit
};

// All derivations that yield one of the references: see ForcedSearch. Of the limits in `settings`
// only the distortion limit applies. Weights are used only to choose options under a table limit.
ForcedResult force(const PhraseModel& model, const Weights& weights, const PhraseInput& input,
                   std::span<const std::vector<std::string>> references,
                   const PhraseSettings& settings, const ForcedSettings& forced,
                   std::shared_ptr<FeatureNames> names, features::NameLog* log);

// The best translations of spans of up to `width` words, and of those that reach the end of the
// sentence; -1: the spans that search uses.
SpanResult best_spans(const PhraseModel& model, const Weights& weights, const PhraseInput& input,
                      const PhraseSettings& settings, int32_t width);

// A phrase of a derivation, in the order of the target.
struct PhraseUse {
  int32_t begin = 0, end = 0;
  std::vector<std::string> target;
};

// The features of a derivation, computed word by word independently of search, for tests to compare
// with. InputError if the phrases are not the model's, overlap or leave a word uncovered. Limits of
// search do not apply.
SparseVector score_derivation(const PhraseModel& model, const PhraseInput& input,
                              std::span<const PhraseUse> phrases, features::NameLog& log);

// The features of templates on a derivation, given by its edges from the last to the first; it may
// be partial. For forests whose features are summed up or have no names: both take time, and
// learning uses few derivations of a forest. `log` receives the names; null: none.
SparseVector sparse_features(const PhraseModel& model, const PhraseInput& input,
                             const Forest& forest, std::span<const uint32_t> edges,
                             features::NameLog* log);

// Writes a search graph as a forest (phrase_forest.cpp). `log` receives the names of features that
// templates fired on its edges; may be null. `summed` requires a search that kept scores.
Forest make_forest(const PhraseModel& model, const OptionTable& options, const SearchGraph& graph,
                   const std::string& id, std::shared_ptr<FeatureNames> names,
                   features::NameLog* log, features::Memo& memo, FeatureId summed = 0);

}  // namespace hopefear::decode
