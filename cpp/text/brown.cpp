#include "text/brown.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/word_numbers.hpp"

namespace hopefear::text {
namespace {

// Of mergers whose losses differ by no more than this the first is taken: losses are sums that are
// updated many times, and rounding must not decide between equal ones.
constexpr double kTie = 1e-7;

// x ln x; counts below 64 K from a table, 4 of 5 in a text of half a million words.
double f(uint64_t x) {
  static const std::vector<double> table = [] {
    std::vector<double> made(1 << 16);
    for (size_t i = 1; i < made.size(); ++i)
      made[i] = static_cast<double>(i) * std::log(static_cast<double>(i));
    return made;
  }();
  if (x < table.size()) return table[x];
  return static_cast<double>(x) * std::log(static_cast<double>(x));
}

double h(uint64_t x, uint64_t y) { return x == 0 || y == 0 ? 0.0 : f(x + y) - f(x) - f(y); }

struct Neighbour {
  uint32_t word;
  uint64_t count;
};

// Words by descending frequency, and their neighbours. A word next to itself is in its `after`
// only.
struct Text {
  std::vector<std::string> words;
  std::vector<uint64_t> counts;
  std::vector<std::vector<Neighbour>> before, after;
  uint64_t sentences = 0, tokens = 0;
};

// Sorts the collected pairs and merges equal ones, so that memory is bounded by the
// distinct pairs, not by the text.
class PairCounts {
 public:
  void add(uint32_t left, uint32_t right) {
    fresh_.push_back(uint64_t{left} << 32 | right);
    if (fresh_.size() >= (size_t{1} << 22)) fold();
  }
  const std::vector<std::pair<uint64_t, uint64_t>>& finish() {
    fold();
    return counts_;
  }

 private:
  void fold() {
    std::ranges::sort(fresh_);
    std::vector<std::pair<uint64_t, uint64_t>> merged;
    auto old = counts_.begin();
    for (size_t i = 0; i < fresh_.size();) {
      size_t end = i;
      while (end < fresh_.size() && fresh_[end] == fresh_[i]) ++end;
      while (old != counts_.end() && old->first < fresh_[i]) merged.push_back(*old++);
      uint64_t count = end - i;
      if (old != counts_.end() && old->first == fresh_[i]) count += (old++)->second;
      merged.emplace_back(fresh_[i], count);
      i = end;
    }
    merged.insert(merged.end(), old, counts_.end());
    counts_ = std::move(merged);
    fresh_.clear();
  }

  std::vector<uint64_t> fresh_;
  std::vector<std::pair<uint64_t, uint64_t>> counts_;  // sorted
};

Text read(std::span<ByteSource* const> sources, uint64_t min_count) {
  Text text;
  WordNumbers words;
  std::vector<uint64_t> counts;
  PairCounts pairs;
  for (ByteSource* source : sources) {
    LineReader reader(*source);
    std::string_view line;
    while (reader.next_text(line)) {
      if ((++text.sentences & 1023) == 0) poll_interrupt();
      uint32_t last = WordNumbers::kNone;
      for_each_word(line, std::string_view(" \t\r\0", 4), [&](std::string_view word) {
        const uint32_t id = words.add(word);
        if (id == counts.size()) counts.push_back(0);
        ++counts[id];
        ++text.tokens;
        if (last != WordNumbers::kNone) pairs.add(last, id);
        last = id;
      });
    }
  }
  std::vector<uint32_t> order(words.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](uint32_t id) { return counts[id] < min_count; });
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
    return counts[a] != counts[b] ? counts[a] > counts[b] : words.word(a) < words.word(b);
  });
  constexpr uint32_t kRare = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> rank(words.size(), kRare);
  for (uint32_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
    text.words.emplace_back(words.word(order[i]));
    text.counts.push_back(counts[order[i]]);
  }
  text.before.resize(order.size());
  text.after.resize(order.size());
  for (const auto& [pair, count] : pairs.finish()) {
    const uint32_t left = rank[pair >> 32], right = rank[pair & 0xffffffff];
    if (left == kRare || right == kRare) continue;
    text.after[left].push_back({right, count});
    if (left != right) text.before[right].push_back({left, count});
  }
  return text;
}

// Up to C + 1 clusters in slots, their counts, and the loss of each merger.
class Clusters {
 public:
  explicit Clusters(size_t slots)
      : slots_(slots),
        counts_(slots * slots),
        left_(slots),
        right_(slots),
        shared_(slots * slots),
        own_(slots * slots, std::numeric_limits<double>::infinity()),
        active_(slots) {}

  // Puts a word into a free slot; `slot_of` says where the others are, `kNowhere` for those to
  // come.
  static constexpr uint32_t kNowhere = std::numeric_limits<uint32_t>::max();
  void add(size_t slot, uint32_t word, const Text& text, const std::vector<uint32_t>& slot_of);
  std::pair<size_t, size_t> best_pair() const;  // first < second
  void merge(size_t into, size_t from);         // frees `from`
  double information() const;

 private:
  // A table of pairs has what belongs to (a, b) where the row is smaller than the column.
  size_t pair(size_t a, size_t b) const { return std::min(a, b) * slots_ + std::max(a, b); }
  uint64_t& n(size_t a, size_t b) { return counts_[a * slots_ + b]; }
  uint64_t n(size_t a, size_t b) const { return counts_[a * slots_ + b]; }
  double& shared(size_t a, size_t b) { return shared_[pair(a, b)]; }
  double term(size_t a, size_t b, size_t d) const {
    return h(n(a, d), n(b, d)) + h(n(d, a), n(d, b));
  }
  void refresh(size_t a);  // own_ of all pairs with a
  // The slots with a non-zero count with this one, except itself.
  std::vector<size_t> touching(size_t slot) const;

  size_t slots_;
  std::vector<uint64_t> counts_;        // n(a, b)
  std::vector<uint64_t> left_, right_;  // n(a, .), n(., a)
  // What a merger of a and b would lose is own_ - shared_: the sums and the four entries of a and b
  // among themselves (infinite where there is no cluster); and SUM of term(a, b, d) over the
  // others.
  std::vector<double> shared_, own_;
  std::vector<char> active_;
};

std::vector<size_t> Clusters::touching(size_t slot) const {
  std::vector<size_t> found;
  for (size_t d = 0; d < slots_; ++d)
    if (d != slot && active_[d] && (n(slot, d) != 0 || n(d, slot) != 0)) found.push_back(d);
  return found;
}

void Clusters::add(size_t slot, uint32_t word, const Text& text,
                   const std::vector<uint32_t>& slot_of) {
  const auto place = [&](uint32_t other) {
    return other == word ? static_cast<uint32_t>(slot) : slot_of[other];
  };
  const auto count = [&](size_t a, size_t b, uint64_t times) {
    n(a, b) += times;
    left_[a] += times;
    right_[b] += times;
  };
  for (const Neighbour& next : text.after[word])
    if (place(next.word) != kNowhere) count(slot, place(next.word), next.count);
  for (const Neighbour& previous : text.before[word])
    if (place(previous.word) != kNowhere) count(place(previous.word), slot, previous.count);
  active_[slot] = 1;
  const std::vector<size_t> near = touching(slot);
  // Others: the new cluster is one more d, where both have something to do with it.
  for (size_t i = 0; i < near.size(); ++i)
    for (size_t j = i + 1; j < near.size(); ++j)
      shared(near[i], near[j]) += term(near[i], near[j], slot);
  for (size_t a = 0; a < slots_; ++a) {
    if (a == slot || !active_[a]) continue;
    double sum = 0.0;
    for (const size_t d : near)
      if (d != a) sum += term(slot, a, d);
    shared(slot, a) = sum;
  }
  refresh(slot);
  for (const size_t a : near) refresh(a);
}

void Clusters::refresh(size_t a) {
  for (size_t b = 0; b < slots_; ++b) {
    if (b == a) continue;
    double& own = own_[pair(a, b)];
    if (!active_[a] || !active_[b]) {
      own = std::numeric_limits<double>::infinity();
      continue;
    }
    const std::array<uint64_t, 4> inner = {n(a, a), n(a, b), n(b, a), n(b, b)};
    own = h(left_[a], left_[b]) + h(right_[a], right_[b]) -
          f(inner[0] + inner[1] + inner[2] + inner[3]);
    for (const uint64_t x : inner) own += f(x);
  }
}

std::pair<size_t, size_t> Clusters::best_pair() const {
  double least = std::numeric_limits<double>::infinity();
  for (size_t a = 0; a < slots_; ++a)
    for (size_t i = a * slots_ + a + 1; i < (a + 1) * slots_; ++i)
      least = std::min(least, own_[i] - shared_[i]);
  for (size_t a = 0; a < slots_; ++a)
    for (size_t b = a + 1; b < slots_; ++b)
      if (own_[a * slots_ + b] - shared_[a * slots_ + b] <= least + kTie) return {a, b};
  return {0, 0};  // not reached: there are two clusters
}

void Clusters::merge(size_t into, size_t from) {
  const std::vector<size_t> near = touching(from);
  std::vector<char> is_near(slots_);
  for (const size_t d : near) is_near[d] = 1;
  // Of pairs (a, b) of others: the terms of both clusters go, those of the union come. They differ
  // only if a or b has something to do with `from`.
  const auto change = [&](double sign) {
    for (const size_t a : near) {
      if (a == into) continue;
      for (size_t b = 0; b < slots_; ++b) {
        if (b == a || b == into || b == from || !active_[b]) continue;
        if (is_near[b] && b < a) continue;  // seen from the other side
        shared(a, b) += sign * (term(a, b, into) + (sign < 0 ? term(a, b, from) : 0.0));
      }
    }
  };
  change(-1.0);
  // Of pairs (into, a): the d that `from` has something to do with, and d = `from` itself.
  const auto change_own = [&](double sign) {
    for (size_t a = 0; a < slots_; ++a) {
      if (a == into || a == from || !active_[a]) continue;
      double sum = 0.0;
      for (const size_t d : near)
        if (d != a && d != into) sum += term(into, a, d);
      if (sign < 0) sum += term(into, a, from);
      shared(into, a) += sign * sum;
    }
  };
  change_own(-1.0);
  for (size_t d = 0; d < slots_; ++d) {
    n(into, d) += std::exchange(n(from, d), 0);
  }
  for (size_t d = 0; d < slots_; ++d) {
    n(d, into) += std::exchange(n(d, from), 0);
  }
  left_[into] += std::exchange(left_[from], 0);
  right_[into] += std::exchange(right_[from], 0);
  active_[from] = 0;
  change(1.0);
  change_own(1.0);
  refresh(into);
  refresh(from);
}

double Clusters::information() const {
  double sum = 0.0;
  uint64_t total = 0;
  for (const uint64_t x : counts_) sum += f(x);
  for (size_t a = 0; a < slots_; ++a) {
    sum -= f(left_[a]) + f(right_[a]);
    total += left_[a];
  }
  if (total == 0) return 0.0;
  return (sum + f(total)) / static_cast<double>(total);
}

}  // namespace

BrownResult brown_clusters(std::span<ByteSource* const> texts, const BrownOptions& options,
                           const std::function<void(uint64_t)>& progress) {
  const Text text = read(texts, options.min_count);
  if (text.words.empty())
    throw InputError(text.tokens == 0 ? "the text has no words; give one with a sentence per line"
                                      : "no word occurs " + std::to_string(options.min_count) +
                                            " times; take a smaller min-count");
  const size_t wanted = std::clamp<size_t>(options.clusters, 1, text.words.size());
  Clusters clusters(wanted + 1);
  std::vector<uint32_t> slot_of(text.words.size(), Clusters::kNowhere);
  std::vector<std::vector<uint32_t>> members(wanted + 1);
  size_t free = 0;
  for (uint32_t word = 0; word < text.words.size(); ++word) {
    clusters.add(free, word, text, slot_of);
    slot_of[word] = static_cast<uint32_t>(free);
    members[free].assign(1, word);
    if (word < wanted) {
      ++free;
    } else {
      const auto [into, from] = clusters.best_pair();
      clusters.merge(into, from);
      for (const uint32_t member : members[from]) slot_of[member] = static_cast<uint32_t>(into);
      members[into].insert(members[into].end(), members[from].begin(), members[from].end());
      members[from].clear();
      free = from;
    }
    poll_interrupt();  // a word takes C^2 steps while the first C come in
    if (progress && (word & 63) == 0) progress(word);
  }
  BrownResult result;
  result.sentences = text.sentences;
  result.tokens = text.tokens;
  result.clusters = wanted;
  result.information = clusters.information();
  // The tree: paths grow at their front as clusters are merged. The first of a pair gets a 0.
  std::vector<std::vector<uint32_t>> inner(wanted + 1);  // slots below a slot's node
  std::vector<std::string> paths(wanted + 1);
  for (uint32_t slot = 0; slot <= wanted; ++slot)
    if (!members[slot].empty()) inner[slot].push_back(slot);
  for (size_t left = wanted; left > 1; --left) {
    const auto [into, from] = clusters.best_pair();
    clusters.merge(into, from);
    for (const uint32_t slot : inner[into]) paths[slot].push_back('0');
    for (const uint32_t slot : inner[from]) paths[slot].push_back('1');
    inner[into].insert(inner[into].end(), inner[from].begin(), inner[from].end());
    inner[from].clear();
    poll_interrupt();
  }
  for (std::string& path : paths) std::ranges::reverse(path);
  if (wanted == 1)
    for (std::string& path : paths) path.assign(1, '0');  // a path that can be seen
  for (uint32_t word = 0; word < text.words.size(); ++word)
    result.words.push_back({text.words[word], paths[slot_of[word]], text.counts[word]});
  std::ranges::stable_sort(result.words, {}, &ClusteredWord::path);  // words are by count already
  if (progress) progress(text.words.size());
  return result;
}

}  // namespace hopefear::text
