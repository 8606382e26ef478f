// The stateful part of a chart's score: language models and templates with a state, for expand().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/chart_parser.hpp"
#include "forest/expand.hpp"

namespace hopefear::decode {

// A state is the packed state of each language model (lm::pack), then the states of the templates,
// each padded with zeros to a multiple of 8 bytes. At the goal <s> and </s> are scored and the
// state is zero. The payload is the natural log probability from each language model.
class ChartScorer : public EdgeScorer {
 public:
  // Owns nothing. `forest`: the result of parse() for the sentence, or a part of it;
  // `record_places`: record the features of places, if parse() did not. `memo` caches the same
  // weights. New feature names are added to `names` while recording. For a single expand().
  ChartScorer(const ChartSentence& sentence, const Forest& forest, const Weights& weights,
              bool record_places, features::Memo& memo, features::NameLog& names);

  size_t state_size() const override { return state_size_; }
  size_t payload_size() const override { return payload_size_; }
  double score(uint32_t edge, std::span<const std::byte* const> tails, std::byte* state) override;
  void record(uint32_t edge, std::span<const std::byte* const> tails, const std::byte* payload,
              FeatureNumbers& numbers, std::vector<FeatureEntry>& own) override;

 private:
  struct Stateful {
    const features::Template* feature;
    size_t offset;
  };
  // Returns the score of language model k and writes its part of the state.
  float lm_score(size_t k, uint32_t edge, std::span<const std::byte* const> tails,
                 std::byte* state) const;
  // The rule of an edge at its place.
  const features::RuleUse& use_of(uint32_t edge);
  void record_place(uint32_t edge, FeatureNumbers& numbers, std::vector<FeatureEntry>& own);
  // Steps all templates and writes the states of the head to their offsets in `state`.
  void step_templates(uint32_t edge, std::span<const std::byte* const> tails, features::Sink& sink,
                      std::byte* state);

  const ChartSentence& sentence_;
  const Forest& forest_;
  const ForestView& a_;
  int64_t goal_;
  size_t state_size_ = 0, payload_size_ = 0;
  const features::ChartFeatures& dense_;
  std::vector<double> weights_;     // by dense feature number
  std::vector<size_t> lm_offsets_;  // offset of each language model's state
  std::vector<Stateful> templates_;
  bool steps_need_use_ = false;
  features::Sink sum_;
  std::vector<features::Fired> fired_;
  features::Sink recorder_;
  ChartUse use_;
  std::vector<features::SourceSpan> gaps_;
  std::vector<const std::byte*> tail_states_;
  std::vector<std::byte> scratch_;
  // Features of places, cached: for each recorded edge their range in place_entries_.
  struct Place {
    uint32_t begin = kUncached, end = 0;
  };
  static constexpr uint32_t kUncached = 0xffffffff;
  const ChartTemplates templates_by_;
  std::vector<Place> places_;  // empty if there are none to record
  std::vector<FeatureEntry> place_entries_;
};

}  // namespace hopefear::decode
