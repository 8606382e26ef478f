#include "decode/phrase_ranking.hpp"

#include <algorithm>

namespace hopefear::decode {

bool Ranking::is_for(std::span<const double> weights, size_t limit) const {
  return limit == limit_ && std::ranges::equal(weights, weights_);
}

bool Ranking::find(rules::RuleTable::Node node, std::vector<uint32_t>& best) const {
  const std::shared_lock lock(mutex_);
  const auto found = best_.find(node);
  if (found == best_.end()) return false;
  best = found->second;
  return true;
}

void Ranking::add(rules::RuleTable::Node node, std::span<const uint32_t> best) {
  const std::unique_lock lock(mutex_);
  if (rules_ + best.size() > kMostRules) return;
  const auto [place, is_new] = best_.try_emplace(node, best.begin(), best.end());
  if (is_new) rules_ += best.size();
}

std::shared_ptr<Ranking> RankingCache::get(std::span<const double> weights, size_t limit) {
  const std::lock_guard lock(mutex_);
  if (last_ == nullptr || !last_->is_for(weights, limit)) {
    last_ = std::make_shared<Ranking>(std::vector<double>(weights.begin(), weights.end()), limit);
  }
  return last_;
}

}  // namespace hopefear::decode
