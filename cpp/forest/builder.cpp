#include "forest/builder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <stdexcept>

namespace hopefear {
namespace {

std::invalid_argument invalid(const std::string& why) { return std::invalid_argument(why); }

void start(ForestStorage& s) {
  s = {};
  s.coverage_begin = s.tail_begin = s.target_begin = s.own_begin = s.row_begin = {0};
}

uint32_t offset(size_t size) {
  if (size >= 0xffffffffu) throw std::invalid_argument("forest with 2^32 entries or more");
  return static_cast<uint32_t>(size);
}

}  // namespace

void make_dense(std::vector<uint32_t>& begin, std::vector<uint32_t>& features,
                std::vector<float>& values, size_t feature_count, std::vector<uint32_t>& columns,
                std::vector<float>& dense) {
  const size_t count = begin.size() - 1;
  std::vector<uint32_t> uses(feature_count, 0);
  for (const uint32_t f : features) ++uses[f];
  std::vector<uint32_t> column_of(feature_count, kNoRow);
  for (uint32_t f = 0; f < feature_count; ++f) {
    if (uses[f] > 0 && 2 * size_t{uses[f]} >= count) {
      column_of[f] = static_cast<uint32_t>(columns.size());
      columns.push_back(f);
    }
  }
  if (columns.empty()) return;
  dense.assign(count * columns.size(), 0);
  uint32_t kept = 0, first = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t last = begin[i + 1];
    for (uint32_t k = first; k < last; ++k) {
      const uint32_t column = column_of[features[k]];
      if (column != kNoRow) {
        dense[i * columns.size() + column] = values[k];
      } else {
        features[kept] = features[k];
        values[kept++] = values[k];
      }
    }
    first = last;
    begin[i + 1] = kept;
  }
  features.resize(kept);
  values.resize(kept);
}

void sort_by_feature(std::vector<FeatureEntry>& entries) {
  const auto before = [](const FeatureEntry& a, const FeatureEntry& b) {
    return a.feature < b.feature;
  };
  if (std::is_sorted(entries.begin(), entries.end(), before)) return;
  if (entries.size() > 64) {
    std::stable_sort(entries.begin(), entries.end(), before);
    return;
  }
  // Insertion sort: most lists have few entries, sorted except for the last ones, and stable_sort()
  // allocates memory.
  for (auto it = entries.begin() + 1; it != entries.end(); ++it) {
    if (!before(*it, it[-1])) continue;
    std::rotate(std::upper_bound(entries.begin(), it, *it, before), it, it + 1);
  }
}

ForestBuilder::ForestBuilder(std::shared_ptr<Vocabulary> vocabulary,
                             std::shared_ptr<FeatureNames> names)
    : vocabulary_(std::move(vocabulary)), names_(std::move(names)) {
  start(storage_);
}

uint32_t ForestBuilder::feature(FeatureId id) {
  if (id == 0) throw invalid("0 is no feature id");
  const auto [number, is_new] =
      feature_numbers_.try_emplace(id, static_cast<uint32_t>(storage_.feature_ids.size()));
  if (is_new) storage_.feature_ids.push_back(id);
  return number;
}

void ForestBuilder::append(std::span<const FeatureEntry> entries, std::vector<uint32_t>& begin,
                           std::vector<uint32_t>& features, std::vector<float>& values) {
  const size_t first = features.size();
  scratch_.assign(entries.begin(), entries.end());
  sort_by_feature(scratch_);
  if (!scratch_.empty() && scratch_.back().feature >= storage_.feature_ids.size()) {
    throw invalid("unknown local feature number");
  }
  for (const FeatureEntry& entry : scratch_) {
    const bool again = features.size() > first && features.back() == entry.feature;
    const float value = again ? values.back() + entry.value : entry.value;
    if (!std::isfinite(value)) {
      features.resize(first);
      values.resize(first);
      throw invalid("feature value " + std::to_string(value) + ", expected a finite number");
    }
    if (again) {
      values.back() = value;
    } else {
      features.push_back(entry.feature);
      values.push_back(value);
    }
  }
  begin.push_back(offset(features.size()));
}

uint32_t ForestBuilder::add_row(std::span<const FeatureEntry> entries) {
  append(entries, storage_.row_begin, storage_.row_features, storage_.row_values);
  return static_cast<uint32_t>(storage_.row_begin.size() - 2);
}

uint32_t ForestBuilder::share_row(std::span<const FeatureEntry> entries) {
  const uint32_t row = add_row(entries);
  const auto begin = [&](uint32_t r) { return storage_.row_begin[r]; };
  uint64_t hash = begin(row + 1) - begin(row);
  for (uint32_t i = begin(row); i < begin(row + 1); ++i) {
    hash = combine64(combine64(hash, storage_.row_features[i]),
                     std::bit_cast<uint32_t>(storage_.row_values[i]));
  }
  const auto [shared, is_new] = shared_rows_.insert(hash, [&](const SharedRow& other) {
    const auto same = [&](const auto& v) {
      return std::equal(v.begin() + begin(row), v.end(), v.begin() + begin(other.row),
                        v.begin() + begin(other.row + 1));
    };
    return other.entries_hash == hash && same(storage_.row_features) && same(storage_.row_values);
  });
  if (is_new) {
    shared = {hash, row};
  } else {
    storage_.row_begin.pop_back();
    storage_.row_features.resize(storage_.row_begin.back());
    storage_.row_values.resize(storage_.row_begin.back());
  }
  return shared.row;
}

uint32_t ForestBuilder::add_node(const NodeLabel& label) {
  if (label.symbol >= vocabulary_->size()) throw invalid("the symbol of a node is no word");
  storage_.covered.push_back(label.covered);
  storage_.spans.insert(storage_.spans.end(), {label.begin, label.end});
  storage_.symbols.push_back(std::max(label.symbol, -1));
  storage_.coverage.insert(storage_.coverage.end(), label.coverage.begin(), label.coverage.end());
  storage_.coverage_begin.push_back(offset(storage_.coverage.size()));
  return offset(storage_.covered.size()) - 1;
}

uint32_t ForestBuilder::add_edge(uint32_t head, std::span<const uint32_t> tails,
                                 std::span<const int32_t> target, uint32_t row,
                                 std::span<const FeatureEntry> own, int64_t rule) {
  const int64_t words = vocabulary_->size(), arity = static_cast<int64_t>(tails.size());
  int64_t slots = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    const int64_t symbol = target[i];
    if (symbol >= words) throw invalid("word " + std::to_string(symbol) + " is not known");
    if (symbol >= 0) continue;
    ++slots;
    const bool twice = std::find(target.begin(), target.begin() + i, symbol) != target.begin() + i;
    if (symbol < -arity || twice) slots = arity + 1;
  }
  if (slots != arity) {
    throw invalid("the target of an edge with " + std::to_string(arity) +
                  " tails must have each slot once");
  }
  append(own, storage_.own_begin, storage_.own_features, storage_.own_values);
  storage_.heads.push_back(head);
  storage_.tails.insert(storage_.tails.end(), tails.begin(), tails.end());
  storage_.tail_begin.push_back(offset(storage_.tails.size()));
  storage_.target.insert(storage_.target.end(), target.begin(), target.end());
  storage_.target_begin.push_back(offset(storage_.target.size()));
  storage_.rows.push_back(row);
  storage_.rules.push_back(rule);
  return offset(storage_.heads.size()) - 1;
}

// Fills node_numbers_. Kahn's algorithm, smallest number first; O((N + tails) log N), but O(tails)
// if the nodes are sorted already.
void ForestBuilder::sort_nodes() {
  const ForestStorage& m = storage_;
  const uint32_t count = nodes();
  node_numbers_.resize(count);
  std::iota(node_numbers_.begin(), node_numbers_.end(), 0);
  bool sorted = true;
  for (size_t e = 0; e < m.heads.size(); ++e) {
    if (m.heads[e] >= count) throw invalid("an edge has head " + std::to_string(m.heads[e]));
    if (m.rows[e] != kNoRow && m.rows[e] >= m.row_begin.size() - 1) {
      throw invalid("an edge has row " + std::to_string(m.rows[e]));
    }
    for (uint32_t i = m.tail_begin[e]; i < m.tail_begin[e + 1]; ++i) {
      if (m.tails[i] >= count) throw invalid("an edge has tail " + std::to_string(m.tails[i]));
      sorted = sorted && m.tails[i] < m.heads[e];
    }
  }
  if (sorted) return;
  std::vector<uint32_t> missing(count, 0);  // tails of incoming edges not yet placed
  std::vector<uint32_t> first(count + 1, 0), used_by(m.tails.size());
  for (const uint32_t tail : m.tails) ++first[tail];
  std::partial_sum(first.begin(), first.end(), first.begin());
  for (size_t e = 0; e < m.heads.size(); ++e) {
    for (uint32_t i = m.tail_begin[e]; i < m.tail_begin[e + 1]; ++i) {
      used_by[--first[m.tails[i]]] = m.heads[e];
      ++missing[m.heads[e]];
    }
  }
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t n = 0; n < count; ++n) {
    if (missing[n] == 0) ready.push(n);
  }
  uint32_t placed = 0;
  for (; !ready.empty(); ++placed) {
    const uint32_t n = ready.top();
    ready.pop();
    node_numbers_[n] = placed;
    for (uint32_t i = first[n]; i < first[n + 1]; ++i) {
      if (--missing[used_by[i]] == 0) ready.push(used_by[i]);
    }
  }
  if (placed != count) {
    const auto node = std::find_if(missing.begin(), missing.end(), [](uint32_t m2) { return m2; });
    throw invalid("a cycle through node " + std::to_string(node - missing.begin()));
  }
}

void ForestBuilder::move_labels(ForestStorage& out) const {
  const uint32_t count = nodes();
  std::vector<uint32_t> old(count);
  for (uint32_t n = 0; n < count; ++n) old[node_numbers_[n]] = n;
  out.coverage_begin = {0};
  for (const uint32_t n : old) {
    out.covered.push_back(storage_.covered[n]);
    out.spans.insert(out.spans.end(), {storage_.spans[2 * n], storage_.spans[2 * n + 1]});
    out.symbols.push_back(storage_.symbols[n]);
    out.coverage.insert(out.coverage.end(), storage_.coverage.begin() + storage_.coverage_begin[n],
                        storage_.coverage.begin() + storage_.coverage_begin[n + 1]);
    out.coverage_begin.push_back(static_cast<uint32_t>(out.coverage.size()));
  }
}

void ForestBuilder::sort_edges(ForestStorage& out) const {
  out.tail_begin = out.target_begin = out.own_begin = {0};
  out.tails.reserve(storage_.tails.size());
  out.target.reserve(storage_.target.size());
  out.own_features.reserve(storage_.own_features.size());
  out.own_values.reserve(storage_.own_values.size());
  const auto copy = [](const auto& from, auto& to, const std::vector<uint32_t>& begin,
                       std::vector<uint32_t>& to_begin, uint32_t e) {
    to.insert(to.end(), from.begin() + begin[e], from.begin() + begin[e + 1]);
    to_begin.push_back(static_cast<uint32_t>(to.size()));
  };
  for (const uint32_t e : edge_order_) {
    out.heads.push_back(node_numbers_[storage_.heads[e]]);
    for (uint32_t i = storage_.tail_begin[e]; i < storage_.tail_begin[e + 1]; ++i) {
      out.tails.push_back(node_numbers_[storage_.tails[i]]);
    }
    out.tail_begin.push_back(static_cast<uint32_t>(out.tails.size()));
    copy(storage_.target, out.target, storage_.target_begin, out.target_begin, e);
    copy(storage_.own_features, out.own_features, storage_.own_begin, out.own_begin, e);
    out.own_values.insert(out.own_values.end(), storage_.own_values.begin() + storage_.own_begin[e],
                          storage_.own_values.begin() + storage_.own_begin[e + 1]);
    out.rows.push_back(storage_.rows[e]);
    out.rules.push_back(storage_.rules[e]);
  }
}

Forest ForestBuilder::finish(std::optional<uint32_t> goal, std::string id) {
  if (goal.has_value() && *goal >= nodes()) throw invalid("the goal is not a node");
  sort_nodes();
  auto out = std::make_shared<ForestStorage>();
  out->node_edges.assign(nodes() + 1, 0);
  for (const uint32_t head : storage_.heads) ++out->node_edges[node_numbers_[head] + 1];
  std::partial_sum(out->node_edges.begin(), out->node_edges.end(), out->node_edges.begin());
  edge_order_.resize(edges());
  std::vector<uint32_t> next(out->node_edges.begin(), out->node_edges.end());
  for (uint32_t e = 0; e < edges(); ++e) edge_order_[next[node_numbers_[storage_.heads[e]]]++] = e;
  move_labels(*out);
  sort_edges(*out);
  out->row_begin = std::move(storage_.row_begin);
  out->row_features = std::move(storage_.row_features);
  out->row_values = std::move(storage_.row_values);
  out->feature_ids = std::move(storage_.feature_ids);
  const size_t features = out->feature_ids.size();
  make_dense(out->row_begin, out->row_features, out->row_values, features, out->row_columns,
             out->row_dense);
  make_dense(out->own_begin, out->own_features, out->own_values, features, out->edge_columns,
             out->edge_dense);
  visit_arrays(*out, [](auto& array) { array.shrink_to_fit(); });
  const int64_t root = goal.has_value() ? int64_t{node_numbers_[*goal]} : -1;
  start(storage_);
  feature_numbers_.clear();
  shared_rows_.clear();
  return Forest(view_of(*out), out, root, std::move(id), vocabulary_, names_);
}

}  // namespace hopefear
