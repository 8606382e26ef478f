#include "decode/open_bin.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/hash.hpp"

namespace hopefear::decode {

uint64_t OpenBin::hash_of(const NodeKey& key) const {
  // One multiplication per 8 bytes and one good mix at the end.
  constexpr uint64_t kFactor = 0x9fb21c651e98df25ULL;
  uint64_t h = (uint64_t{key.coverage} << 32 | key.forward) * kFactor;
  h = (h ^ (h >> 29) ^
       (uint64_t{static_cast<uint32_t>(key.begin)} << 32 | static_cast<uint32_t>(key.end))) *
      kFactor;
  size_t i = 0;
  for (; i + 8 <= state_size_; i += 8) {
    uint64_t word;
    std::memcpy(&word, key.state + i, 8);
    h = (h ^ (h >> 29) ^ word) * kFactor;
  }
  if (i < state_size_) {
    uint64_t word = 0;
    std::memcpy(&word, key.state + i, state_size_ - i);
    h = (h ^ (h >> 29) ^ word) * kFactor;
  }
  return mix64(h);
}

bool OpenBin::same(uint32_t index, uint64_t hash, const NodeKey& key) const {
  const Made& made = nodes_[index];
  return made.hash == hash && made.node.coverage == key.coverage &&
         made.node.forward == key.forward && made.node.end == key.end && made.begin == key.begin &&
         (state_size_ == 0 ||  // without language models and templates there is no memory either
          std::memcmp(states_.data() + index * state_size_, key.state, state_size_) == 0);
}

void OpenBin::add(const NodeKey& key, int32_t begin, double score, double total,
                  const SearchEdge& edge, const float* values) {
  const uint64_t hash = hash_of(key);
  const auto [index, is_new] =
      numbers_.insert(hash, [&](uint32_t other) { return same(other, hash, key); });
  if (is_new) {
    nodes_.push_back({{score, total, key.coverage, key.forward, begin, key.end}, hash, key.begin});
    states_.insert(states_.end(), key.state, key.state + state_size_);
  } else if (Made& made = nodes_[index]; score > made.node.score) {
    made.node.score = score;
    made.node.total = total;
    made.node.begin = begin;
  }
  edges_.push_back({edge, index});
  values_.insert(values_.end(), values, values + width_);
}

std::vector<uint32_t> OpenBin::best(uint32_t beam) const {
  std::vector<uint32_t> order(nodes_.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto better = [&](uint32_t a, uint32_t b) {
    const double x = nodes_[a].node.total, y = nodes_[b].node.total;
    return x != y ? x > y : a < b;
  };
  if (order.size() > beam) {
    std::nth_element(order.begin(), order.begin() + beam, order.end(), better);
    order.resize(beam);
  }
  std::sort(order.begin(), order.end(), better);
  return order;
}

void OpenBin::shrink(uint32_t beam) {
  std::vector<uint32_t> keep = best(beam);
  std::sort(keep.begin(), keep.end());
  constexpr uint32_t kDropped = 0xffffffff;
  std::vector<uint32_t> numbers(nodes_.size(), kDropped);
  for (uint32_t i = 0; i < keep.size(); ++i) {
    numbers[keep[i]] = i;
    nodes_[i] = nodes_[keep[i]];
    std::copy_n(states_.begin() + static_cast<ptrdiff_t>(keep[i] * state_size_), state_size_,
                states_.begin() + static_cast<ptrdiff_t>(i * state_size_));
  }
  nodes_.resize(keep.size());
  states_.resize(keep.size() * state_size_);
  size_t kept = 0;
  for (size_t e = 0; e < edges_.size(); ++e) {
    const uint32_t head = numbers[edges_[e].head];
    if (head == kDropped) continue;
    edges_[kept] = {edges_[e].edge, head};
    for (size_t l = 0; l < width_; ++l) values_[kept * width_ + l] = values_[e * width_ + l];
    ++kept;
  }
  edges_.resize(kept);
  values_.resize(kept * width_);
  numbers_.clear();
  for (const Made& made : nodes_) numbers_.insert(made.hash, [](uint32_t) { return false; });
}

SearchBin OpenBin::close(const SearchLimits& limits) {
  std::vector<uint32_t> keep = best(limits.beam);
  if (limits.threshold > 0 && !keep.empty()) {
    const double lowest = nodes_[keep.front()].node.total - limits.threshold;
    while (nodes_[keep.back()].node.total < lowest) keep.pop_back();
  }
  SearchBin bin;
  constexpr uint32_t kDropped = 0xffffffff;
  std::vector<uint32_t> numbers(nodes_.size(), kDropped);
  bin.nodes.reserve(keep.size());
  bin.states.reserve(keep.size() * state_size_);
  for (const uint32_t i : keep) {
    numbers[i] = static_cast<uint32_t>(bin.nodes.size());
    bin.nodes.push_back(nodes_[i].node);
    const auto state = states_.begin() + static_cast<ptrdiff_t>(i * state_size_);
    bin.states.insert(bin.states.end(), state, state + static_cast<ptrdiff_t>(state_size_));
  }
  bin.edges_begin.assign(keep.size() + 1, 0);
  for (const MadeEdge& e : edges_) {
    if (numbers[e.head] != kDropped) ++bin.edges_begin[numbers[e.head] + 1];
  }
  for (size_t i = 0; i < keep.size(); ++i) bin.edges_begin[i + 1] += bin.edges_begin[i];
  bin.edges.resize(bin.edges_begin.back());
  bin.values.resize(bin.edges.size() * width_);
  std::vector<uint32_t> next(bin.edges_begin.begin(), bin.edges_begin.end());
  for (size_t e = 0; e < edges_.size(); ++e) {
    const uint32_t head = numbers[edges_[e].head];
    if (head == kDropped) continue;
    const uint32_t place = next[head]++;
    bin.edges[place] = edges_[e].edge;
    for (size_t l = 0; l < width_; ++l) bin.values[place * width_ + l] = values_[e * width_ + l];
  }
  return bin;
}

}  // namespace hopefear::decode
