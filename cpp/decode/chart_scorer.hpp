// The stateful part of a chart's score: language models and templates with a state, for expand().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/chart_parser.hpp"
#include "forest/expand.hpp"
#include "lm/chart_state.hpp"

namespace hopefear::decode {

// A state is, for each language model, what lm::pack makes of it, then
// the states of the templates, each filled up with zeros to a multiple of 8 bytes. At the goal <s>
// and
// </s> are added and all of it is zero. The payload is the natural log that each language model
// gave.
class ChartScorer : public EdgeScorer {
 public:
  // Nothing is owned. `forest`: what parse() made of the sentence, or a part of it. `names` gets
  // the names that templates compose while recording.
  ChartScorer(const ChartSentence& sentence, const Forest& forest, const Weights& weights,
              features::NameLog& names);

  size_t state_size() const override { return state_size_; }
  size_t payload_size() const override { return payload_size_; }
  double score(uint32_t edge, std::span<const std::byte* const> tails, std::byte* state) override;
  void record(uint32_t edge, std::span<const std::byte* const> tails, const std::byte* payload,
              FeatureNumbers& features, std::vector<FeatureEntry>& own) override;

 private:
  struct Lm {
    size_t number;
    const lm::Model* model;
    unsigned order;
    size_t offset;  // of its state
    double weight;  // per natural log
    ChartFeature feature;
  };
  struct Stateful {
    const features::Template* made_of;
    size_t offset;
  };
  float lm_score(const Lm& part, uint32_t edge, std::span<const std::byte* const> tails,
                 std::byte* state);
  // Steps all templates; the states of the head go behind `state`.
  void step_templates(uint32_t edge, std::span<const std::byte* const> tails, features::Sink& sink,
                      std::byte* state);

  const ChartSentence& sentence_;
  const Forest& forest_;
  const ForestView& a_;
  int64_t goal_;
  size_t state_size_ = 0, payload_size_ = 0;
  std::vector<Lm> lms_;
  std::vector<Stateful> templates_;
  bool steps_need_use_ = false;
  features::Memo memo_;  // of both sinks
  features::Sink sum_;
  std::vector<features::Fired> fired_;
  features::Sink recorder_;
  ChartUse use_;
  std::vector<features::SourceSpan> gaps_;
  std::vector<const std::byte*> tail_states_;
  std::vector<std::byte> scratch_;
};

}  // namespace hopefear::decode
