#include "forest/expand.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/interrupt.hpp"
#include "base/probing_table.hpp"

namespace hopefear {
namespace {

constexpr uint32_t kUnscored = 0xffffffff;
constexpr double kNoGuess = std::numeric_limits<double>::infinity();

size_t aligned(size_t bytes) { return (bytes + 7) / 8 * 8; }

// Arenas are cleared at every node but keep their memory, so nothing is allocated per candidate.
class Expander {
 public:
  Expander(const Forest& forest, Scores scores, EdgeScorer& scorer, const ExpandOptions& options)
      : old_(forest),
        a_(forest.arrays()),
        scores_(scores),
        scorer_(scorer),
        options_(options),
        state_bytes_(scorer.state_size()),
        slot_bytes_(std::max<size_t>(8, aligned(state_bytes_ + scorer.payload_size()))),
        features_(a_.feature_ids),
        first_(forest.nodes(), 0),
        count_(forest.nodes(), 0) {
    out_.coverage_begin = out_.tail_begin = out_.target_begin = out_.own_begin = {0};
    reserve(std::min<size_t>(4 * forest.edges(), 100'000));
  }

  Expanded run() {
    const std::optional<uint32_t> goal = old_.goal();
    const bool goal_is_tail =
        goal.has_value() && std::find(a_.tails.begin(), a_.tails.end(), *goal) != a_.tails.end();
    std::optional<uint32_t> new_goal;
    for (uint32_t n = 0; n < old_.nodes(); ++n) {
      start_node();
      if (options_.beam == 0) {
        take_all(n);
      } else {
        take_best(n);
      }
      const bool merge = options_.merge_goal && goal == n;
      if (!merge || goal_is_tail) {
        first_[n] = static_cast<uint32_t>(result_.nodes.size());
        count_[n] = static_cast<uint32_t>(items_.size());
        finish_node(n);
      }
      if (merge && !items_.empty()) {
        new_goal = static_cast<uint32_t>(result_.nodes.size());
        merge_items();
        finish_node(n);
      }
    }
    return finish(new_goal);
  }

 private:
  // An edge with a choice of one new node for each tail, by rank.
  struct Candidate {
    double base;   // without what the scorer adds here
    double added;  // by the scorer; an estimate if `slot` is kUnscored
    uint32_t edge;
    uint32_t slot;  // of the state in slots_
    size_t ranks;   // offset in ranks_
  };
  struct Queued {
    double score;
    uint32_t candidate;
  };
  // Ties go to the candidate made first.
  static bool worse(const Queued& x, const Queued& y) {
    return x.score != y.score ? x.score < y.score : x.candidate > y.candidate;
  }
  struct Found {  // a candidate that became an edge
    uint32_t candidate, item;
  };
  struct Item {  // a new node
    double best;
    uint32_t slot;
    uint32_t edges;
  };

  std::byte* slot(uint32_t number) { return slots_.data() + number * slot_bytes_; }

  void reserve(size_t edges) {
    out_.heads.reserve(edges);
    out_.tails.reserve(2 * edges);
    out_.tail_begin.reserve(edges + 1);
    out_.target.reserve(4 * edges);
    out_.target_begin.reserve(edges + 1);
    out_.rows.reserve(edges);
    out_.rules.reserve(edges);
    out_.own_begin.reserve(edges + 1);
    result_.edges.reserve(edges);
    result_.scores.reserve(edges);
  }

  void start_node() {
    candidates_.clear();
    ranks_.clear();
    queue_.clear();
    found_.clear();
    items_.clear();
    slots_used_ = 0;
    numbers_.clear();
  }

  bool usable(uint32_t edge) const {
    if (scores_[edge] == kNever) return false;
    for (const uint32_t t : old_.tails(edge)) {
      if (count_[t] == 0) return false;
    }
    return true;
  }

  // A candidate whose ranks are the last in ranks_.
  Candidate candidate(uint32_t edge, size_t ranks, double guess) const {
    double base = scores_[edge];
    const std::span<const uint32_t> t = old_.tails(edge);
    for (size_t i = 0; i < t.size(); ++i) base += result_.best[first_[t[i]] + ranks_[ranks + i]];
    return {base, guess, edge, kUnscored, ranks};
  }

  std::span<const std::byte* const> tail_states(const Candidate& c) {
    const std::span<const uint32_t> t = old_.tails(c.edge);
    if (tail_states_.size() < t.size()) tail_states_.resize(t.size());
    for (size_t i = 0; i < t.size(); ++i) {
      tail_states_[i] = result_.states.data() + (first_[t[i]] + ranks_[c.ranks + i]) * slot_bytes_;
    }
    return {tail_states_.data(), t.size()};
  }

  // False if the scorer forbids it.
  bool score(Candidate& c) {
    if ((++result_.scored & 0x3fff) == 0) poll_interrupt();
    if ((slots_used_ + 1) * slot_bytes_ > slots_.size())
      slots_.resize(2 * slots_.size() + 64 * slot_bytes_);
    const double added = scorer_.score(c.edge, tail_states(c), slot(slots_used_));
    if (added == kNever) return false;
    if (!std::isfinite(added)) {
      throw std::invalid_argument("a scorer gave edge " + std::to_string(c.edge) + " the score " +
                                  std::to_string(added) + ", expected a number or -infinity");
    }
    c.added = added;
    c.slot = slots_used_++;
    return true;
  }

  void take(uint32_t number) {
    if (result_.edges.size() + found_.size() >= options_.limit) {
      throw ExpandLimit("forest " + shown(old_.id()) + ": expanding it makes more than " +
                        std::to_string(options_.limit) + " edges; give a (smaller) beam");
    }
    const Candidate& c = candidates_[number];
    const auto* const state = reinterpret_cast<const char*>(slot(c.slot));
    const auto [item, is_new] = numbers_.insert(hash64({state, state_bytes_}), [&](uint32_t other) {
      return state_bytes_ == 0 || std::memcmp(slot(items_[other].slot), state, state_bytes_) == 0;
    });
    const double total = c.base + c.added;
    if (is_new) {
      items_.push_back({total, c.slot, 0});
    } else if (total > items_[item].best) {
      items_[item].best = total;
      items_[item].slot = c.slot;
    }
    ++items_[item].edges;
    found_.push_back({number, item});
  }

  // Every choice of tails of every edge.
  void take_all(uint32_t n) {
    for (uint32_t e = a_.node_edges[n]; e < a_.node_edges[n + 1]; ++e) {
      if (!usable(e)) continue;
      const std::span<const uint32_t> t = old_.tails(e);
      size_t at = ranks_.size();
      ranks_.resize(at + t.size(), 0);
      while (true) {
        Candidate c = candidate(e, at, kNoGuess);
        const bool kept = score(c);
        if (kept) {
          candidates_.push_back(c);
          take(static_cast<uint32_t>(candidates_.size() - 1));
        }
        // The next choice, the last tail first; in a new slot if this one is in use.
        size_t i = t.size();
        while (i > 0 && ranks_[at + i - 1] + 1 == count_[t[i - 1]]) --i;
        if (i == 0) break;
        if (kept) {
          ranks_.resize(at + 2 * t.size());
          std::copy_n(ranks_.begin() + at, t.size(), ranks_.begin() + at + t.size());
          at += t.size();
        }
        ++ranks_[at + i - 1];
        std::fill(ranks_.begin() + at + i, ranks_.begin() + at + t.size(), 0);
      }
    }
  }

  void push(double score, uint32_t number) {
    queue_.push_back({score, number});
    std::push_heap(queue_.begin(), queue_.end(), worse);
  }

  // Cube pruning: one queue for all edges of the node.
  void take_best(uint32_t n) {
    for (uint32_t e = a_.node_edges[n]; e < a_.node_edges[n + 1]; ++e) {
      if (!usable(e)) continue;
      const size_t at = ranks_.size();
      ranks_.resize(at + old_.tails(e).size(), 0);
      const double guess = options_.eager ? kNoGuess : scorer_.estimate(e);
      candidates_.push_back(candidate(e, at, guess));
      const uint32_t number = static_cast<uint32_t>(candidates_.size() - 1);
      if (guess == kNoGuess && !score(candidates_[number])) {
        push_successors(number);
        continue;
      }
      const Candidate& c = candidates_[number];
      push(c.base + c.added, number);
    }
    for (size_t pops = 0; pops < options_.beam && !queue_.empty();) {
      std::pop_heap(queue_.begin(), queue_.end(), worse);
      const uint32_t number = queue_.back().candidate;
      queue_.pop_back();
      Candidate& c = candidates_[number];
      if (c.slot == kUnscored) {
        if (!score(c)) {
          c.added = kNoGuess;
          push_successors(number);
          continue;
        }
        const Queued now = {c.base + c.added, number};
        if (!queue_.empty() && worse(now, queue_.front())) {
          push(now.score, number);
          continue;
        }
      }
      ++pops;
      take(number);
      push_successors(number);
    }
  }

  // Every vector of ranks is the successor of exactly one other, the one with its last non-zero
  // rank decremented. So nothing is queued twice, without a record of queued candidates.
  void push_successors(uint32_t number) {
    const uint32_t edge = candidates_[number].edge;
    const std::span<const uint32_t> t = old_.tails(edge);
    const size_t from = candidates_[number].ranks;
    const double guess = options_.eager ? kNoGuess : candidates_[number].added;
    size_t i = t.size();
    while (i > 0 && ranks_[from + i - 1] == 0) --i;
    for (i = i == 0 ? 0 : i - 1; i < t.size(); ++i) {
      if (ranks_[from + i] + 1 >= count_[t[i]]) continue;
      const size_t at = ranks_.size();
      ranks_.resize(at + t.size());
      std::copy_n(ranks_.begin() + from, t.size(), ranks_.begin() + at);
      ++ranks_[at + i];
      candidates_.push_back(candidate(edge, at, guess));
      push(candidates_.back().base + guess, static_cast<uint32_t>(candidates_.size() - 1));
    }
  }

  void merge_items() {
    Item all = items_.front();
    for (const Item& item : items_) {
      if (item.best > all.best) all = item;
    }
    all.edges = static_cast<uint32_t>(found_.size());
    items_.assign(1, all);
    for (Found& found : found_) found.item = 0;
  }

  // Writes the new nodes of an old one, best first, and their edges.
  void finish_node(uint32_t n) {
    order_.resize(items_.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t x, uint32_t y) { return items_[x].best > items_[y].best; });
    uint32_t begin = 0;
    starts_.resize(items_.size());
    const uint32_t first = static_cast<uint32_t>(result_.nodes.size());
    for (const uint32_t i : order_) {
      starts_[i] = begin;
      begin += items_[i].edges;
      add_node(n, items_[i]);
    }
    sorted_.resize(found_.size());
    for (const Found& found : found_) sorted_[starts_[found.item]++] = found.candidate;
    size_t next = 0;
    for (uint32_t i = 0; i < order_.size(); ++i) {
      for (uint32_t k = 0; k < items_[order_[i]].edges; ++k) {
        add_edge(candidates_[sorted_[next++]], first + i);
      }
    }
  }

  void add_node(uint32_t n, const Item& item) {
    result_.nodes.push_back(n);
    result_.best.push_back(item.best);
    result_.states.insert(result_.states.end(), slot(item.slot), slot(item.slot) + slot_bytes_);
    out_.node_edges.push_back(static_cast<uint32_t>(result_.edges.size()));  // later moved on
    out_.covered.push_back(a_.covered[n]);
    out_.spans.insert(out_.spans.end(), {a_.spans[2 * n], a_.spans[2 * n + 1]});
    out_.symbols.push_back(a_.symbols[n]);
    const std::span<const uint64_t> bits = old_.coverage(n);
    out_.coverage.insert(out_.coverage.end(), bits.begin(), bits.end());
    out_.coverage_begin.push_back(static_cast<uint32_t>(out_.coverage.size()));
  }

  void add_edge(const Candidate& c, uint32_t head) {
    result_.edges.push_back(c.edge);
    result_.scores.push_back(scores_[c.edge] + c.added);
    out_.node_edges[head] = static_cast<uint32_t>(result_.edges.size());
    out_.heads.push_back(head);
    const std::span<const uint32_t> t = old_.tails(c.edge);
    for (size_t i = 0; i < t.size(); ++i) {
      out_.tails.push_back(first_[t[i]] + ranks_[c.ranks + i]);
    }
    out_.tail_begin.push_back(static_cast<uint32_t>(out_.tails.size()));
    const std::span<const int32_t> target = old_.target(c.edge);
    out_.target.insert(out_.target.end(), target.begin(), target.end());
    out_.target_begin.push_back(static_cast<uint32_t>(out_.target.size()));
    out_.rows.push_back(a_.rows[c.edge]);
    out_.rules.push_back(a_.rules[c.edge]);
    own_.clear();
    for_own_features(a_, c.edge, [&](uint32_t f, float value) { own_.push_back({f, value}); });
    scorer_.record(c.edge, tail_states(c), slot(c.slot) + state_bytes_, features_, own_);
    append_own();
  }

  // Like ForestBuilder: sorted, equal features summed, values checked to be finite.
  void append_own() {
    sort_by_feature(own_);
    const size_t first = out_.own_features.size();
    for (const FeatureEntry& entry : own_) {
      if (out_.own_features.size() > first && out_.own_features.back() == entry.feature) {
        out_.own_values.back() += entry.value;
      } else {
        out_.own_features.push_back(entry.feature);
        out_.own_values.push_back(entry.value);
      }
      if (!std::isfinite(out_.own_values.back())) {
        throw std::invalid_argument("a scorer fired a feature value that is not finite");
      }
    }
    out_.own_begin.push_back(static_cast<uint32_t>(out_.own_features.size()));
  }

  // Keeps only rows and features of kept edges: a chart's parse has twenty times as many.
  void keep_rows() {
    std::vector<uint32_t> numbers(old_.rows(), kNoRow);
    const size_t columns = a_.row_columns.size();
    out_.row_columns.assign(a_.row_columns.begin(), a_.row_columns.end());
    out_.row_begin = {0};
    for (uint32_t& row : out_.rows) {
      if (row == kNoRow) continue;
      uint32_t& number = numbers[row];
      if (number == kNoRow) {
        number = static_cast<uint32_t>(out_.row_begin.size() - 1);
        const auto dense = a_.row_dense.subspan(row * columns, columns);
        out_.row_dense.insert(out_.row_dense.end(), dense.begin(), dense.end());
        for (uint32_t i = a_.row_begin[row]; i < a_.row_begin[row + 1]; ++i) {
          out_.row_features.push_back(a_.row_features[i]);
          out_.row_values.push_back(a_.row_values[i]);
        }
        out_.row_begin.push_back(static_cast<uint32_t>(out_.row_features.size()));
      }
      row = number;
    }
  }
  // Keeps their order, so that sorted lists stay sorted.
  void keep_features() {
    const std::span<const FeatureId> ids = features_.ids();
    std::vector<uint32_t> numbers(ids.size(), 0);
    const auto in_all = [&](auto&& f) {
      for (auto* list : {&out_.row_columns, &out_.row_features, &out_.own_features}) {
        for (uint32_t& feature : *list) f(feature);
      }
    };
    in_all([&](uint32_t feature) { numbers[feature] = 1; });
    for (size_t f = 0; f < ids.size(); ++f) {
      if (numbers[f] == 0) continue;
      numbers[f] = static_cast<uint32_t>(out_.feature_ids.size());
      out_.feature_ids.push_back(ids[f]);
    }
    in_all([&](uint32_t& feature) { feature = numbers[feature]; });
  }

  Expanded finish(std::optional<uint32_t> goal) {
    for (const size_t size :
         {out_.target.size(), out_.tails.size(), out_.own_features.size(), out_.coverage.size()}) {
      if (size >= 0xffffffffu) throw std::invalid_argument("forest with 2^32 entries or more");
    }
    out_.node_edges.insert(out_.node_edges.begin(), 0);
    keep_rows();
    keep_features();
    make_dense(out_.own_begin, out_.own_features, out_.own_values, out_.feature_ids.size(),
               out_.edge_columns, out_.edge_dense);
    const auto made = std::make_shared<ForestStorage>(std::move(out_));
    result_.forest = Forest(view_of(*made), made, goal.has_value() ? int64_t{*goal} : -1, old_.id(),
                            old_.vocabulary(), old_.names());
    result_.stride = slot_bytes_;
    return std::move(result_);
  }

  const Forest& old_;
  const ForestView& a_;
  const Scores scores_;
  EdgeScorer& scorer_;
  const ExpandOptions options_;
  const size_t state_bytes_, slot_bytes_;
  NumberTable numbers_;  // of the states of the node; indexes items_
  FeatureNumbers features_;
  std::vector<uint32_t> first_, count_;  // of each old node: its new nodes
  Expanded result_;
  ForestStorage out_;

  // Of the current node.
  std::vector<Candidate> candidates_;
  std::vector<uint32_t> ranks_;
  std::vector<Queued> queue_;  // a heap, best on top
  std::vector<Found> found_;
  std::vector<Item> items_;
  std::vector<std::byte> slots_;
  uint32_t slots_used_ = 0;
  std::vector<uint32_t> order_, starts_, sorted_;
  std::vector<const std::byte*> tail_states_;
  std::vector<FeatureEntry> own_;
};

}  // namespace

FeatureNumbers::FeatureNumbers(std::span<const FeatureId> ids) : ids_(ids.begin(), ids.end()) {}

uint32_t FeatureNumbers::feature(FeatureId id) {
  if (id == last_id_) return last_number_;
  if (id == 0) throw std::invalid_argument("0 is no feature id");
  if (numbers_.empty()) {  // filled on first use: many scorers record nothing
    numbers_.reserve(ids_.size());
    for (uint32_t i = 0; i < ids_.size(); ++i) numbers_.try_emplace(ids_[i], i);
  }
  const auto [number, is_new] = numbers_.try_emplace(id, static_cast<uint32_t>(ids_.size()));
  if (is_new) ids_.push_back(id);
  last_id_ = id;
  return last_number_ = number;
}

Expanded expand(const Forest& forest, Scores scores, EdgeScorer& scorer,
                const ExpandOptions& options) {
  check_scores(forest, scores);
  return Expander(forest, scores, scorer, options).run();
}

}  // namespace hopefear
