#include "forest/oracle.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "forest/expand.hpp"
#include "forest/gain_scorer.hpp"
#include "forest/kbest.hpp"
#include "forest/words.hpp"

namespace hopefear {
namespace {

constexpr uint64_t kLookedAt = 1'000'000;  // limit on derivations examined for the few candidates

}  // namespace

OracleCandidates oracle_candidates(const Forest& forest, Scores scores, Roots roots,
                                   const BleuReferences& references, size_t sentence,
                                   const NgramGain& gain,
                                   const std::function<uint32_t(int32_t)>& number,
                                   const OracleOptions& options) {
  if (sentence >= references.sentences())
    throw std::invalid_argument("sentence index out of range");
  OracleCandidates result;
  std::optional<Derivation> best = viterbi(forest, scores, roots);
  if (!best.has_value()) return result;

  std::unordered_map<int32_t, uint32_t> numbers;
  const std::vector<uint32_t> words = numbered_target(
      forest, [&](int32_t word) { return numbers.emplace(word, number(word)).first->second; });
  std::vector<double> scaled(scores.begin(), scores.end());
  for (double& score : scaled) {
    if (score != kNever) score *= options.model;
  }
  std::vector<uint8_t> wanted(forest.nodes(), 0);
  for (const uint32_t root : roots) wanted[root] = 1;

  std::set<std::vector<uint32_t>> seen = {best->edges};
  result.derivations.push_back(std::move(*best));
  for (const double sign : options.signs) {
    GainScorer scorer(forest, references, sentence, gain, sign, words, options.source_words,
                      options.by_length);
    const Expanded split =
        expand(forest, scaled, scorer,
               {options.beam, kExpandLimit, /*merge_goal=*/false, /*eager=*/false});
    std::vector<uint32_t> new_roots;
    for (uint32_t n = 0; n < split.nodes.size(); ++n) {
      if (wanted[split.nodes[n]] != 0) new_roots.push_back(n);
    }
    const KBestResult found =
        kbest(split.forest, split.scores, new_roots, options.candidates, true, kLookedAt);
    for (const Derivation& derivation : found.derivations) {
      Derivation back{forest, {}, 0};
      for (const uint32_t edge : derivation.edges) {
        back.edges.push_back(split.edges[edge]);
        back.score += scores[split.edges[edge]];
      }
      if (seen.insert(back.edges).second) result.derivations.push_back(std::move(back));
    }
  }

  const std::unique_ptr<Counter> counter = references.counter();
  result.rows.resize(result.derivations.size() * references.columns());
  std::vector<WordId> string;
  for (size_t i = 0; i < result.derivations.size(); ++i) {
    string.clear();
    for (const int32_t word : words_of(result.derivations[i])) string.push_back(numbers.at(word));
    counter->count(sentence, string, result.rows.data() + i * references.columns());
  }
  return result;
}

}  // namespace hopefear
