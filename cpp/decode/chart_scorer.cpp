#include "decode/chart_scorer.hpp"

#include <cstring>

namespace hopefear::decode {
namespace {

size_t aligned(size_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace

ChartScorer::ChartScorer(const ChartSentence& sentence, const Forest& forest,
                         const Weights& weights, bool record_places, features::Memo& memo,
                         features::NameLog& names)
    : sentence_(sentence),
      forest_(forest),
      a_(forest.arrays()),
      goal_(forest.goal().has_value() ? int64_t{*forest.goal()} : -1),
      dense_(sentence.model.dense),
      sum_(memo, nullptr, nullptr),
      recorder_(memo, &fired_, &names),
      use_(sentence),
      templates_by_(sentence.model.templates) {
  const ChartModel& model = sentence.model;
  for (const FeatureId id : dense_.ids) weights_.push_back(weights.get(id));
  for (const features::LanguageModel& lm : dense_.lms) {
    lm_offsets_.push_back(state_size_);
    state_size_ += lm.edge_state_size();
  }
  payload_size_ = aligned(sizeof(float) * dense_.lms.size());
  for (const auto& each : model.templates) {
    if (each->state_size() == 0) continue;
    templates_.push_back({each.get(), state_size_});
    steps_need_use_ |= each->needs_use();
    state_size_ += aligned(each->state_size());
  }
  scratch_.resize(state_size_);
  if (record_places && templates_by_.depend_on_place()) places_.resize(forest.edges());
}

float ChartScorer::lm_score(size_t k, uint32_t edge, std::span<const std::byte* const> tails,
                            std::byte* state) const {
  const std::span<const int32_t> target = forest_.target(edge);
  const size_t offset = lm_offsets_[k];
  return dense_.lms[k].edge(
      target, a_.heads[edge] == goal_, [&](size_t i) { return sentence_.lm_word(k, target[i]); },
      [&](size_t tail) { return tails[tail] + offset; }, state + offset);
}

double ChartScorer::score(uint32_t edge, std::span<const std::byte* const> tails,
                          std::byte* state) {
  const size_t lms = dense_.lms.size();
  features::WeightedSum sum{weights_};
  for (size_t k = 0; k < lms; ++k) {
    const float natural = lm_score(k, edge, tails, state);
    std::memcpy(state + state_size_ + sizeof(float) * k, &natural, sizeof(natural));
    dense_.lms[k].add(natural, sum);
  }
  if (lms % 2 == 1) {  // the payload's end
    std::memset(state + state_size_ + sizeof(float) * lms, 0, sizeof(float));
  }
  if (!templates_.empty()) {
    sum_.reset();
    step_templates(edge, tails, sum_, state);
    sum.score += sum_.score();
  }
  return sum.score;
}

const features::RuleUse& ChartScorer::use_of(uint32_t edge) {
  const auto span_of = [&](uint32_t node) {
    return features::SourceSpan{a_.spans[2 * node], a_.spans[2 * node + 1]};
  };
  gaps_.clear();
  for (const uint32_t tail : forest_.tails(edge)) gaps_.push_back(span_of(tail));
  return use_.of(a_.rules[edge], span_of(a_.heads[edge]), gaps_, forest_.target(edge));
}

void ChartScorer::step_templates(uint32_t edge, std::span<const std::byte* const> tails,
                                 features::Sink& sink, std::byte* state) {
  const bool goal = a_.heads[edge] == goal_;
  features::Step step;
  step.source = &use_.source();
  step.target = forest_.target(edge);
  const bool has_rule = a_.rules[edge] != kNoRule || (tails.empty() && !step.target.empty());
  if (has_rule && steps_need_use_) step.use = &use_of(edge);
  tail_states_.resize(tails.size());
  for (const Stateful& each : templates_) {
    for (size_t i = 0; i < tails.size(); ++i) tail_states_[i] = tails[i] + each.offset;
    step.tails = tail_states_;
    const size_t size = each.feature->state_size();
    std::byte* const to = state + each.offset;
    std::memset(to + size, 0, aligned(size) - size);
    each.feature->step(step, sink, to);
    if (goal) {
      each.feature->finish(use_.source(), to, false, sink);
      std::memset(to, 0, size);
    }
  }
}

void ChartScorer::record(uint32_t edge, std::span<const std::byte* const> tails,
                         const std::byte* payload, FeatureNumbers& numbers,
                         std::vector<FeatureEntry>& own) {
  for (size_t k = 0; k < dense_.lms.size(); ++k) {
    float natural;
    std::memcpy(&natural, payload + sizeof(float) * k, sizeof(natural));
    dense_.lms[k].add(natural, features::Recorder{[&](uint32_t number, float value) {
                        if (value == 0) return;
                        own.push_back({numbers.feature(dense_.ids[number]), value});
                      }});
  }
  if (!places_.empty() && a_.rules[edge] != kNoRule) record_place(edge, numbers, own);
  if (templates_.empty()) return;
  fired_.clear();
  step_templates(edge, tails, recorder_, scratch_.data());
  for (const features::Fired& f : fired_) own.push_back({numbers.feature(f.id), f.value});
}

// An edge is kept once for each choice of its tails' states, but fires only once.
void ChartScorer::record_place(uint32_t edge, FeatureNumbers& numbers,
                               std::vector<FeatureEntry>& own) {
  Place& place = places_[edge];
  if (place.begin == kUncached) {
    fired_.clear();
    templates_by_.fire_place(use_of(edge), recorder_);
    place.begin = static_cast<uint32_t>(place_entries_.size());
    for (const features::Fired& f : fired_) {
      place_entries_.push_back({numbers.feature(f.id), f.value});
    }
    place.end = static_cast<uint32_t>(place_entries_.size());
  }
  own.insert(own.end(), place_entries_.begin() + place.begin, place_entries_.begin() + place.end);
}

}  // namespace hopefear::decode
