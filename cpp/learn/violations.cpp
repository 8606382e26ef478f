#include "learn/violations.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <unordered_map>

#include "base/hash.hpp"
#include "forest/inference.hpp"

namespace hopefear {
namespace {

constexpr int32_t kUnknownWord = std::numeric_limits<int32_t>::min();

// The words that an edge adds to its tail's.
std::span<const int32_t> added(const Forest& forest, uint32_t edge) {
  const std::span<const int32_t> target = forest.target(edge);
  const size_t tails = forest.tails(edge).size();
  if (tails > 1 || (tails == 1 && target.front() >= 0)) {
    throw std::invalid_argument(
        "bins of prefixes: only the forest of a left-to-right search has "
        "them, in which an edge adds words behind one tail");
  }
  return target.subspan(tails);
}

// The properties of a node that later phrases depend on, except the target.
uint64_t state_hash(const Forest& forest, uint32_t node) {
  const ForestView& a = forest.arrays();
  uint64_t hash =
      mix64((uint64_t{a.covered[node]} << 32) | static_cast<uint32_t>(a.spans[2 * node + 1]));
  for (const uint64_t word : forest.coverage(node)) hash = mix64(hash ^ word);
  return hash;
}

bool same_state(const Forest& f, uint32_t n, const Forest& g, uint32_t m) {
  const ForestView &a = f.arrays(), &b = g.arrays();
  return a.covered[n] == b.covered[m] && a.spans[2 * n + 1] == b.spans[2 * m + 1] &&
         std::ranges::equal(f.coverage(n), g.coverage(m));
}

}  // namespace

Violations::Violations(Forest beam, Forest gold, const Weights& weights, bool complete,
                       const Future* future)
    : beam_(std::move(beam)), gold_(std::move(gold)), complete_(complete) {
  read_gold(weights);
  find_places();
  search(weights);
  fill_bins(future);
}

void Violations::read_gold(const Weights& weights) {
  const ForestView& a = gold_.arrays();
  BestEdges best = best_edges(gold_, edge_scores(gold_, weights));
  gold_scores_ = std::move(best.scores);
  gold_edges_ = std::move(best.edges);
  gold_places_.assign(gold_.nodes(), kBad);
  uint32_t last = 0;  // of the longest string: prefixes of a reference may end early
  for (uint32_t n = 0; n < gold_.nodes(); ++n) {
    if (gold_edges_[n] == kNoEdge) continue;
    const std::span<const uint32_t> tails = gold_.tails(gold_edges_[n]);
    const std::span<const int32_t> words = added(gold_, gold_edges_[n]);
    gold_places_[n] =
        (tails.empty() ? 0 : gold_places_[tails[0]]) + static_cast<int32_t>(words.size());
    length_ = std::max(length_, a.covered[n]);
    if (gold_places_[n] > gold_places_[last]) last = n;
  }
  for (uint32_t e = 0; e < gold_.edges(); ++e) {
    for (const uint32_t tail : gold_.tails(e)) {
      longest_ = std::max(longest_, a.covered[a.heads[e]] - a.covered[tail]);
    }
  }
  bins_.assign(size_t{length_} + 1, {kNever, kNever, kNever});
  if (gold_.nodes() == 0 || gold_places_[last] == kBad) return;
  for (const int32_t word : words_of(
           {gold_, expand_derivation(gold_, last, [&](uint32_t n) { return gold_edges_[n]; })})) {
    const int32_t found = beam_.vocabulary()->find(gold_.vocabulary()->word(word));
    reference_.push_back(found < 0 ? kUnknownWord : found);
  }
}

void Violations::find_places() {
  // Nodes of the beam are few; those of the gold forest, which may be many, are only looked up.
  std::unordered_multimap<uint64_t, uint32_t> nodes;  // hash -> the first beam node with a key
  const auto find = [&](const Forest& forest, uint32_t node, uint64_t hash) -> const uint32_t* {
    const auto [first, end] = nodes.equal_range(hash);
    for (auto at = first; at != end; ++at) {
      if (same_state(forest, node, beam_, at->second)) return &keys_[at->second];
    }
    return nullptr;
  };
  keys_.resize(beam_.nodes());
  for (uint32_t n = 0; n < beam_.nodes(); ++n) {
    const uint64_t hash = state_hash(beam_, n);
    if (const uint32_t* const key = find(beam_, n, hash)) {
      keys_[n] = *key;
    } else {
      keys_[n] = static_cast<uint32_t>(nodes.size());
      nodes.emplace(hash, n);
    }
  }
  good_.resize(nodes.size());
  for (uint32_t n = 0; n < gold_.nodes(); ++n) {
    // A goal whose edges add nothing may have strings of different lengths.
    if (gold_places_[n] == kBad || (gold_.goal() == n && !in_bin(gold_, n))) continue;
    const uint32_t* const key = find(gold_, n, state_hash(gold_, n));
    if (key == nullptr) continue;
    std::vector<int32_t>& places = good_[*key];
    if (std::ranges::find(places, gold_places_[n]) == places.end()) {
      places.push_back(gold_places_[n]);
    }
  }
}

void Violations::search(const Weights& weights) {
  const std::vector<double> scores = edge_scores(beam_, weights);
  entries_begin_ = {0};
  entries_.reserve(2 * size_t{beam_.nodes()});
  for (uint32_t n = 0; n < beam_.nodes(); ++n) {
    const size_t first = entries_.size();
    const std::vector<int32_t>& places = good_[keys_[n]];
    const auto offer = [&](double score, uint32_t edge, uint32_t before, int32_t place) {
      for (size_t i = first; i < entries_.size(); ++i) {
        if (entries_[i].place != place) continue;
        if (score > entries_[i].score) entries_[i] = {score, edge, before, place};
        return;
      }
      entries_.push_back({score, edge, before, place});
    };
    const auto after = [&](int32_t place, std::span<const int32_t> words) {
      if (place == kBad) return kBad;
      const auto begin = static_cast<size_t>(place);
      if (words.size() > reference_.size() - begin ||
          !std::equal(words.begin(), words.end(), reference_.begin() + place)) {
        return kBad;
      }
      const int32_t end = place + static_cast<int32_t>(words.size());
      return std::ranges::find(places, end) == places.end() ? kBad : end;
    };
    const auto [begin, end] = beam_.in_edges(n);
    for (uint32_t e = begin; e < end; ++e) {
      const std::span<const int32_t> words = added(beam_, e);
      const std::span<const uint32_t> tails = beam_.tails(e);
      if (tails.empty()) {
        offer(scores[e], e, 0, after(0, words));
        continue;
      }
      for (uint32_t i = entries_begin_[tails[0]]; i < entries_begin_[tails[0] + 1]; ++i) {
        const double score = entries_[i].score + scores[e];
        offer(score, e, i, after(entries_[i].place, words));
      }
    }
    entries_begin_.push_back(static_cast<uint32_t>(entries_.size()));
  }
}

// Whether a node belongs to its bin. In the last bin: with complete_ only the goal; otherwise all
// nodes except a goal whose edges add no source words.
bool Violations::in_bin(const Forest& forest, uint32_t node) const {
  const ForestView& a = forest.arrays();
  if (a.covered[node] < length_) return true;
  const bool goal = forest.goal() == node;
  if (complete_ || !goal) return goal == complete_;
  const auto [begin, end] = forest.in_edges(node);
  return begin == end || forest.tails(begin).empty() || a.covered[forest.tails(begin)[0]] < length_;
}

void Violations::fill_bins(const Future* future) {
  const auto rest = [&](const Forest& forest, uint32_t node) {
    return future == nullptr ? 0.0 : future->score(forest.coverage(node));
  };
  for (uint32_t n = 0; n < gold_.nodes(); ++n) {
    if (!in_bin(gold_, n)) continue;
    Bin& bin = bins_[gold_.arrays().covered[n]];
    const double score = gold_scores_[n] + rest(gold_, n);
    if (score > bin.good) bin.good = score, bin.good_node = n;
  }
  for (uint32_t n = 0; n < beam_.nodes(); ++n) {
    // Out of range if the beam is of another, longer sentence.
    if (beam_.arrays().covered[n] > length_ || !in_bin(beam_, n)) continue;
    Bin& bin = bins_[beam_.arrays().covered[n]];
    const double open = rest(beam_, n);
    for (uint32_t i = entries_begin_[n]; i < entries_begin_[n + 1]; ++i) {
      const Entry& entry = entries_[i];
      const double score = entry.score + open;
      if (entry.place != kBad) {
        bin.survivor = std::max(bin.survivor, score);
      } else if (score > bin.bad) {
        bin.bad = score;
        bin.bad_entry = i;
        bin.bad_node = n;
      }
    }
  }
}

std::vector<uint32_t> Violations::last_nodes() const {
  std::vector<uint32_t> nodes;
  for (uint32_t n = 0; n < beam_.nodes(); ++n) {
    if (beam_.arrays().covered[n] == length_ && in_bin(beam_, n)) nodes.push_back(n);
  }
  return nodes;
}

Derivation Violations::good(size_t bin) const {
  const Bin& found = bins_.at(bin);
  if (found.good == kNever) throw std::out_of_range("no good derivation in this bin");
  return {gold_,
          expand_derivation(gold_, found.good_node, [&](uint32_t n) { return gold_edges_[n]; }),
          found.good};
}

Derivation Violations::bad(size_t bin) const {
  const Bin& found = bins_.at(bin);
  if (found.bad == kNever) throw std::out_of_range("no bad derivation in this bin");
  Derivation derivation{beam_, {}, found.bad};
  for (uint32_t i = found.bad_entry;; i = entries_[i].before) {
    derivation.edges.push_back(entries_[i].edge);
    if (beam_.tails(entries_[i].edge).empty()) return derivation;
  }
}

std::span<const uint64_t> Violations::good_coverage(size_t bin) const {
  return gold_.coverage(bins_.at(bin).good_node);
}

std::span<const uint64_t> Violations::bad_coverage(size_t bin) const {
  return beam_.coverage(bins_.at(bin).bad_node);
}

SparseVector Violations::difference(size_t bin) const {
  return features_of(good(bin)).plus(features_of(bad(bin)), -1);
}

}  // namespace hopefear
