// A cache of the best rules of source phrases, kept from sentence to sentence.
//
// A frequent word may have ten thousand translations, and ranking them takes longer than the search
// of a sentence; but the ranking is the same as long as the weights are. The cache does not change
// results.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "rules/rule_table.hpp"

namespace hopefear::decode {

// The ranking for one set of weights and one table limit. Thread-safe.
class Ranking {
 public:
  Ranking(std::vector<double> weights, size_t limit)
      : weights_(std::move(weights)), limit_(limit) {}
  bool is_for(std::span<const double> weights, size_t limit) const;

  bool find(rules::RuleTable::Node node, std::vector<uint32_t>& best) const;
  void add(rules::RuleTable::Node node, std::span<const uint32_t> best);

 private:
  static constexpr size_t kMostRules = size_t{1} << 24;  // 64 MB; nothing is added beyond that
  const std::vector<double> weights_;
  const size_t limit_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<rules::RuleTable::Node, std::vector<uint32_t>> best_;
  size_t rules_ = 0;
};

// Returns the ranking for given weights: the one used last if it matches, else a new one.
class RankingCache {
 public:
  std::shared_ptr<Ranking> get(std::span<const double> weights, size_t limit);

 private:
  std::mutex mutex_;
  std::shared_ptr<Ranking> last_;
};

}  // namespace hopefear::decode
