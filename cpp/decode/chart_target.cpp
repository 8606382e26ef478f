#include "decode/chart_target.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/interrupt.hpp"
#include "forest/builder.hpp"
#include "forest/select.hpp"

namespace hopefear::decode {
namespace {

class TargetParser {
 public:
  TargetParser(const Forest& forest, std::span<const int32_t> target)
      : old_(forest),
        a_(forest.arrays()),
        words_(target),
        size_(static_cast<int32_t>(target.size())),
        builder_(forest.vocabulary(), forest.names()),
        spans_(forest.nodes()),
        rows_(forest.rows(), kNoRow) {
    for (const FeatureId id : a_.feature_ids) builder_.feature(id);
    for (int32_t i = 0; i < size_; ++i) places_[target[i]].push_back(i);
  }

  Forest run() {
    std::optional<uint32_t> goal;
    for (uint32_t n = 0; n < old_.nodes(); ++n) {
      poll_interrupt();
      node_ = n;
      for (uint32_t e = a_.node_edges[n]; e < a_.node_edges[n + 1]; ++e) match_edge(e);
      std::sort(spans_[n].begin(), spans_[n].end(), [](const Span& x, const Span& y) {
        return x.begin != y.begin ? x.begin < y.begin : x.end < y.end;
      });
      heads_.clear();
      if (old_.goal() == n) {
        for (const Span& span : spans_[n]) {
          if (span.begin == 0 && span.end == size_) goal = span.node;
        }
      }
    }
    if (!goal.has_value())
      return ForestBuilder(old_.vocabulary(), old_.names()).finish({}, old_.id());
    const Forest all = builder_.finish(goal, old_.id());
    const uint32_t root = *all.goal();
    return select(all, useful_edges(all, {&root, 1}), false);
  }

 private:
  struct Span {
    int32_t begin, end;
    uint32_t node;
  };

  void match_edge(uint32_t edge) {
    const std::span<const int32_t> side = old_.target(edge);
    tails_.assign(old_.tails(edge).size(), 0);
    if (side.empty()) {
      for (int32_t at = 0; at <= size_; ++at) match(edge, side, 0, at, at);
    } else if (side[0] >= 0) {
      const auto found = places_.find(side[0]);
      if (found == places_.end()) return;
      for (const int32_t at : found->second) match(edge, side, 0, at, at);
    } else {
      int32_t last = -1;
      for (const Span& span : spans_[old_.tails(edge)[static_cast<size_t>(-1 - side[0])]]) {
        if (span.begin != last) match(edge, side, 0, span.begin, span.begin);
        last = span.begin;
      }
    }
  }
  void match(uint32_t edge, std::span<const int32_t> side, size_t i, int32_t begin, int32_t at) {
    while (i < side.size() && side[i] >= 0) {
      if (at >= size_ || words_[at] != side[i]) return;
      ++at, ++i;
    }
    if (i == side.size()) {
      add(edge, begin, at);
      return;
    }
    const auto tail = static_cast<size_t>(-1 - side[i]);
    const std::vector<Span>& spans = spans_[old_.tails(edge)[tail]];
    auto span = std::lower_bound(spans.begin(), spans.end(), at,
                                 [](const Span& x, int32_t b) { return x.begin < b; });
    for (; span != spans.end() && span->begin == at; ++span) {
      tails_[tail] = span->node;
      match(edge, side, i + 1, begin, span->end);
    }
  }
  void add(uint32_t edge, int32_t begin, int32_t end) {
    const uint64_t key = uint64_t{static_cast<uint32_t>(begin)} << 32 | static_cast<uint32_t>(end);
    const auto [head, is_new] = heads_.try_emplace(key, 0);
    if (is_new) {
      head->second =
          builder_.add_node({a_.covered[node_], a_.spans[2 * node_], a_.spans[2 * node_ + 1],
                             a_.symbols[node_], old_.coverage(node_)});
      spans_[node_].push_back({begin, end, head->second});
    }
    entries_.clear();
    for_own_features(a_, edge, [&](uint32_t f, float value) { entries_.push_back({f, value}); });
    builder_.add_edge(head->second, tails_, old_.target(edge), row_of(a_.rows[edge]), entries_,
                      a_.rules[edge]);
  }
  uint32_t row_of(uint32_t old_row) {
    if (old_row == kNoRow) return kNoRow;
    uint32_t& row = rows_[old_row];
    if (row == kNoRow) {
      row_entries_.clear();
      for_row_features(a_, old_row,
                       [&](uint32_t f, float value) { row_entries_.push_back({f, value}); });
      row = builder_.add_row(row_entries_);
    }
    return row;
  }

  const Forest& old_;
  const ForestView& a_;
  std::span<const int32_t> words_;
  const int32_t size_;
  ForestBuilder builder_;
  std::unordered_map<int32_t, std::vector<int32_t>> places_;  // of each word in the target
  std::vector<std::vector<Span>> spans_;                      // of each old node, by begin
  std::vector<uint32_t> rows_;                                // of each old row
  std::unordered_map<uint64_t, uint32_t> heads_;              // of this old node, by span
  std::vector<uint32_t> tails_;
  std::vector<FeatureEntry> entries_, row_entries_;
  uint32_t node_ = 0;
};

}  // namespace

Forest derivations_of(const Forest& forest, std::span<const int32_t> target) {
  return TargetParser(forest, target).run();
}

}  // namespace hopefear::decode
