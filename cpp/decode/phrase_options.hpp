// The translation options of a sentence: for each span of source words the phrases that may
// translate it, with all scores and features that do not depend on the preceding phrases.
//
// Ranking (Moses's, see collect_options): translation scores + language model of the phrase alone
// + words + phrases, by the current weights. The best `table_limit` of a source phrase are kept.
// Templates do not take part in the ranking, since firing them for all translations of a frequent
// word would cost more than the search; they are part of the estimate afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/own_rules.hpp"
#include "decode/phrase_model.hpp"
#include "decode/reference_trie.hpp"
#include "features/feature.hpp"

namespace hopefear::decode {

// A translation that the input prescribes for a span of its words.
struct ForcedPhrase {
  int32_t begin = 0, end = 0;
  std::vector<std::string> target;
  double log_probability = 0;  // natural; divided equally among translation columns, as in Moses
};

struct PhraseInput {
  std::string id;
  std::vector<std::string> words;
  std::vector<std::string> after;  // words after the sentence, seen by templates but not translated
  std::vector<std::string> tags;   // of `words` and `after`, or empty
  std::vector<ForcedPhrase> forced;
  bool exclusive = true;                  // drop other options for spans that overlap a forced one
  std::optional<TrainingPair> leave_out;  // leave out rules extracted from this pair only

  // The beginning of messages; callers name a sentence without an id.
  std::string place() const { return id.empty() ? "" : "sentence " + id + ": "; }
};

// Reordering scores times weights, by orientation.
using WeightedOrientations = std::array<double, features::kOrientations>;

struct PhraseOption {
  int32_t begin = 0, end = 0;  // in the source, half-open
  uint32_t target = 0;         // offset of its words, see OptionTable::target
  uint32_t target_size = 0;
  uint32_t fired = 0, fired_size = 0;  // range of its features, see OptionTable::fired
  double fired_score = 0;              // their score
  int64_t rule = features::kPassThrough;
  double row = 0;       // score of the features that do not depend on the context
  double estimate = 0;  // row + language models of the phrase alone
  WeightedOrientations backward{};
  uint32_t forward = 0;  // class of its forward reordering scores, 0 for all zeros
  bool unknown = false;  // an untranslated word without a rule; false for a forced option
  float share = 0;       // forced options: the value of each translation column
};

class OptionTable {
 public:
  struct Range {
    uint32_t begin = 0, end = 0;
    bool empty() const { return begin == end; }
  };

  int32_t length() const { return length_; }    // of the sentence
  int32_t longest() const { return longest_; }  // source words of the longest option, at least 1
  // Options of a span of 1 .. longest() words, best estimate first.
  Range at(int32_t begin, int32_t end) const {
    return ranges_[static_cast<size_t>(begin) * static_cast<size_t>(longest_) +
                   static_cast<size_t>(end - begin - 1)];
  }
  const PhraseOption& option(uint32_t i) const { return options_[i]; }
  uint32_t size() const { return static_cast<uint32_t>(options_.size()); }
  std::span<const int32_t> target(const PhraseOption& o) const {
    return {words_.data() + o.target, o.target_size};
  }
  // The same after a slot for the preceding translation: the target side of an edge.
  std::span<const int32_t> edge_target(const PhraseOption& o) const {
    return {words_.data() + o.target - 1, o.target_size + 1};
  }
  const features::LmPhrase& lm_phrase(uint32_t option, size_t lm) const {
    return lm_phrases_[size_t{option} * lms_ + lm];
  }
  // Adds the dense features of an option that do not depend on its context.
  template <typename Out>
  void add_dense(uint32_t option, Out&& out) const {
    add_dense(options_[option], std::span(lm_phrases_).subspan(size_t{option} * lms_, lms_), out);
  }
  // Values of the reordering columns; empty for an option without a rule.
  std::span<const float> reordering(const PhraseOption& o) const {
    return o.rule < 0 ? std::span<const float>() : model_->reordering(scores(o));
  }
  const features::OrientationScores& forward(uint32_t group) const { return forward_[group]; }
  // The same times weights.
  const WeightedOrientations& weighted_forward(uint32_t group) const {
    return weighted_forward_[group];
  }
  // The features that stateless templates fired for an option.
  std::span<const features::Fired> fired(uint32_t option) const {
    return std::span(fired_).subspan(options_[option].fired, options_[option].fired_size);
  }
  // The description of an option for templates; its spans point into this table and into the model.
  features::RuleUse use(const PhraseOption& o) const;
  // Fires the stateful templates for an option that follows the state `tail`, and writes their
  // states to `after`; both have the model's state_size() bytes.
  void step_templates(const PhraseOption& o, const std::byte* tail, features::Sink& sink,
                      std::byte* after) const;

  const features::Source& source() const { return source_; }
  const std::shared_ptr<Vocabulary>& vocabulary() const { return vocabulary_; }

 private:
  friend class OptionCollector;
  template <typename Out>
  void add_dense(const PhraseOption& o, std::span<const features::LmPhrase> parts,
                 Out&& out) const {
    const features::PhraseFeatures& dense = model_->dense();
    for (size_t l = 0; l < lms_; ++l) dense.lm_unknown[l].add(parts[l].unknown, out);
    if (o.rule >= 0) {
      dense.phrase(o.target_size, model_->translation(scores(o)), out);
    } else if (o.unknown) {
      dense.passed(out);
    } else {
      dense.given(o.target_size, o.share, out);
    }
  }
  std::span<const float> scores(const PhraseOption& o) const {
    return model_->table().scores(static_cast<uint32_t>(o.rule));
  }
  const PhraseModel* model_ = nullptr;
  int32_t length_ = 0, longest_ = 1;
  size_t lms_ = 0;
  std::shared_ptr<Vocabulary> vocabulary_;  // of the sentence; extends the model's
  std::vector<int32_t> source_words_, source_tags_;
  features::Source source_;
  std::vector<Range> ranges_;
  std::vector<PhraseOption> options_;
  std::vector<int32_t> words_;
  std::vector<features::LmPhrase> lm_phrases_;
  std::vector<features::OrientationScores> forward_;
  std::vector<WeightedOrientations> weighted_forward_;
  std::vector<features::Fired> fired_;
};

// Restricts options to those whose target words occur in a reference. `vocabulary` becomes the
// sentence's; it extends the model's and numbers the words of the references.
struct TargetFilter {
  std::shared_ptr<Vocabulary> vocabulary;
  const ReferenceTrie* references;  // not owned
};

// Collects `table_limit` options per source phrase, 0 for all; `filter` is applied after the limit.
// Names that templates compose go to `names`; null: names are not kept, which is faster, since most
// options are never used (name_fired() logs those of used ones). Without `record` only the scores
// of templates are kept, not their features. The model must outlive the result.
std::unique_ptr<const OptionTable> collect_options(const PhraseModel& model,
                                                   const PhraseWeights& weights,
                                                   const PhraseInput& input, size_t table_limit,
                                                   features::NameLog* names,
                                                   const TargetFilter* filter = nullptr,
                                                   bool record = true);
// Logs the names of the features that an option fired. `memo`: of the sentence.
void name_fired(const PhraseModel& model, const OptionTable& options, uint32_t option,
                features::Memo& memo, features::NameLog& names);

}  // namespace hopefear::decode
