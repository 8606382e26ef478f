// The hierarchical decoder: parses, then expands by language models and stateful templates.
// [chiang2007, huang2007]; with a target sentence in two parses [dyer2010].
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "decode/chart_scorer.hpp"

namespace hopefear::decode {

// Immutable; any number of threads may decode at once.
class ChartDecoder {
 public:
  // Interns the features that the forests may have in `names`; only the constructor does.
  ChartDecoder(ChartOptions options, features::ChartFeatures dense,
               std::vector<std::shared_ptr<const rules::RuleTable>> tables,
               std::vector<std::shared_ptr<const lm::Model>> lms, features::Templates templates,
               std::shared_ptr<FeatureNames> names);

  ChartDecoder(const ChartDecoder&) = delete;
  ChartDecoder& operator=(const ChartDecoder&) = delete;

  struct Input {
    std::span<const std::string> words;
    std::string id;
    std::shared_ptr<const rules::RuleTable> grammar;  // of this sentence, may be null
    std::span<const std::string> tags = {};           // of the words, or empty
    std::optional<TrainingPair> leave_out = {};  // leave out rules extracted from this pair only
  };
  struct Output {
    Forest forest;
    int32_t span_limit = 0;  // of the chart; smaller than the option's if that gave too many edges
    size_t beam = 0;         // of cube pruning; smaller than requested if that gave too many edges
    uint32_t nodes = 0, edges = 0;     // of the forest before the language model
    size_t scored = 0;                 // edges that the language model scored
    std::vector<std::string> dropped;  // unary rules that would have closed a cycle, as "A -> B"
  };

  // The forest before the language model, with all features without state. `target_features`:
  // include the numbers of words and of unknown words.
  Output parse(const Input& input, const Weights& weights, bool target_features,
               features::NameLog& names) const;
  // `beam`: pops per node; 0: all derivations.
  Output decode(const Input& input, const Weights& weights, size_t beam,
                features::NameLog& names) const;
  // All derivations of the target, without limits of the search.
  Output constrain(const Input& input, const Weights& weights, std::span<const std::string> target,
                   features::NameLog& names) const;

  const ChartModel& model() const { return model_; }

 private:
  ChartModel model_;
};

}  // namespace hopefear::decode
