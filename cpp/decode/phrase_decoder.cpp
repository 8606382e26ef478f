#include "decode/phrase_decoder.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "decode/forced_search.hpp"
#include "forest/builder.hpp"

namespace hopefear::decode {
namespace {

constexpr uint32_t kSmallestBeam = 10, kSmallestPopLimit = 30;

void check_length(const PhraseInput& input, const SearchLimits& limits) {
  const size_t words = input.words.size();
  const bool unlimited = limits.distortion < 0;
  const size_t most = unlimited ? kLongestUnlimited : kLongestSentence;
  if (words <= most) return;
  throw InputError(input.place() + std::to_string(words) + " words, expected at most " +
                   std::to_string(most) +
                   (unlimited ? " without a distortion limit; give one or split the sentence"
                              : "; split the sentence"));
}

int32_t width_of(const SearchLimits& limits, const PhraseInput& input) {
  const auto words = static_cast<int32_t>(input.words.size());
  return limits.distortion < 0 ? words : std::min(words, limits.distortion);
}

}  // namespace

SearchLimits limits_for(const PhraseSettings& settings, size_t words) {
  SearchLimits limits = settings.limits;
  if (settings.long_sentence == 0 || words <= settings.long_sentence) return limits;
  const auto shrink = [&](uint32_t limit, uint32_t smallest) {
    const uint64_t less = uint64_t{limit} * settings.long_sentence / words;
    return std::min(limit, static_cast<uint32_t>(std::max<uint64_t>(smallest, less)));
  };
  limits.beam = shrink(limits.beam, kSmallestBeam);
  limits.pop_limit = shrink(limits.pop_limit, kSmallestPopLimit);
  const auto widest = static_cast<int32_t>(std::min(settings.long_sentence, kLongestSentence));
  if (limits.distortion < 0 || limits.distortion > widest) limits.distortion = widest;
  return limits;
}

PhraseResult decode(const PhraseModel& model, const Weights& weights, const PhraseInput& input,
                    const PhraseSettings& settings, std::shared_ptr<FeatureNames> names,
                    features::NameLog* log, FeatureId summed) {
  const SearchLimits limits = limits_for(settings, input.words.size());
  check_length(input, limits);
  const PhraseWeights dense(model, weights);
  PhraseResult result;
  result.spans.options =
      collect_options(model, dense, input, settings.table_limit, nullptr, nullptr, summed == 0);
  const OptionTable& options = *result.spans.options;
  result.spans.table = std::make_unique<SpanTable>(options, width_of(limits, input));
  PhraseSearch search(model, dense, options, *result.spans.table, limits, summed != 0);
  search.run();
  result.forest = make_forest(model, options, search.graph(), input.id, std::move(names), log,
                              dense.memo(), summed);
  return result;
}

ForcedResult force(const PhraseModel& model, const Weights& weights, const PhraseInput& input,
                   std::span<const std::vector<std::string>> references,
                   const PhraseSettings& settings, const ForcedSettings& forced,
                   std::shared_ptr<FeatureNames> names, features::NameLog* log) {
  const SearchLimits limits = limits_for(settings, input.words.size());
  check_length(input, limits);
  const PhraseWeights dense(model, weights);
  const auto vocabulary = std::make_shared<Vocabulary>(model.vocabulary());
  std::vector<std::vector<int32_t>> numbers;
  for (const std::vector<std::string>& reference : references) {
    std::vector<int32_t>& words = numbers.emplace_back();
    for (const std::string& word : reference) words.push_back(vocabulary->intern(word));
  }
  const ReferenceTrie trie(std::move(numbers));
  const TargetFilter filter{vocabulary, &trie};
  const auto options = collect_options(model, dense, input, forced.table_limit, nullptr, &filter);
  ForcedSearch search(model, *options, trie, {limits.distortion}, forced.most_nodes);
  ForcedResult result;
  ForcedSearch::Outcome outcome = search.run();
  result.complete = outcome == ForcedSearch::Outcome::kFound;
  if (outcome == ForcedSearch::Outcome::kNone && forced.prefix) {
    outcome = search.run_prefix(forced.shortest_prefix);
  }
  result.nodes = search.nodes_made();
  result.too_many = outcome == ForcedSearch::Outcome::kTooMany;
  if (outcome == ForcedSearch::Outcome::kFound) {
    result.source_words = search.source_words();
    result.target_words = search.target_words();
    result.forest =
        make_forest(model, *options, search.graph(), input.id, std::move(names), log, dense.memo());
  } else {
    result.forest = ForestBuilder(vocabulary, std::move(names)).finish({}, input.id);
  }
  return result;
}

SpanResult best_spans(const PhraseModel& model, const Weights& weights, const PhraseInput& input,
                      const PhraseSettings& settings, int32_t width) {
  const SearchLimits limits = limits_for(settings, input.words.size());
  check_length(input, limits);
  const PhraseWeights dense(model, weights);
  SpanResult result;
  result.options = collect_options(model, dense, input, settings.table_limit, nullptr);
  if (width < 0) width = width_of(limits, input);
  result.table = std::make_unique<SpanTable>(*result.options, width);
  return result;
}

}  // namespace hopefear::decode
