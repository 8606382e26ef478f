// The stateful part of a chart's score: language models and templates with a state, for expand().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/chart_parser.hpp"
#include "forest/expand.hpp"

namespace hopefear::decode {

// A state is, for each language model, what lm::pack makes of it, then the states of the templates,
// each filled up with zeros to a multiple of 8 bytes. At the goal <s> and </s> are added and all of
// it is zero. The payload is the natural log that each language model gave.
class ChartScorer : public EdgeScorer {
 public:
  // Nothing is owned. `forest`: what parse() made of the sentence, or a part of it;
  // `record_places`: if that left the features of places to this. The memo has these weights.
  // `names` gets the names that templates compose while recording. For one expand() only.
  ChartScorer(const ChartSentence& sentence, const Forest& forest, const Weights& weights,
              bool record_places, features::Memo& memo, features::NameLog& names);

  size_t state_size() const override { return state_size_; }
  size_t payload_size() const override { return payload_size_; }
  double score(uint32_t edge, std::span<const std::byte* const> tails, std::byte* state) override;
  void record(uint32_t edge, std::span<const std::byte* const> tails, const std::byte* payload,
              FeatureNumbers& numbers, std::vector<FeatureEntry>& own) override;

 private:
  struct Stateful {
    const features::Template* made_of;
    size_t offset;
  };
  // What language model k adds, and its part of the state.
  float lm_score(size_t k, uint32_t edge, std::span<const std::byte* const> tails,
                 std::byte* state) const;
  // The rule of an edge where it is used.
  const features::RuleUse& use_of(uint32_t edge);
  void record_place(uint32_t edge, FeatureNumbers& numbers, std::vector<FeatureEntry>& own);
  // Steps all templates; the states of the head go behind `state`.
  void step_templates(uint32_t edge, std::span<const std::byte* const> tails, features::Sink& sink,
                      std::byte* state);

  const ChartSentence& sentence_;
  const Forest& forest_;
  const ForestView& a_;
  int64_t goal_;
  size_t state_size_ = 0, payload_size_ = 0;
  const features::ChartFeatures& dense_;
  std::vector<double> weights_;     // by their numbers
  std::vector<size_t> lm_offsets_;  // of each language model's state
  std::vector<Stateful> templates_;
  bool steps_need_use_ = false;
  features::Sink sum_;
  std::vector<features::Fired> fired_;
  features::Sink recorder_;
  ChartUse use_;
  std::vector<features::SourceSpan> gaps_;
  std::vector<const std::byte*> tail_states_;
  std::vector<std::byte> scratch_;
  // Features of places: of each edge that was asked for, where they are in place_entries_.
  struct Place {
    uint32_t begin = kUnasked, end = 0;
  };
  static constexpr uint32_t kUnasked = 0xffffffff;
  const ChartTemplates templates_by_;
  std::vector<Place> places_;  // empty if there are none to record
  std::vector<FeatureEntry> place_entries_;
};

}  // namespace hopefear::decode
