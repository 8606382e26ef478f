#include "forest/kbest.hpp"

#include <algorithm>
#include <deque>
#include <tuple>
#include <utility>

#include "base/hash.hpp"
#include "base/interrupt.hpp"
#include "base/probing_table.hpp"

namespace hopefear {
namespace {

constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
constexpr uint64_t kBase[2] = {0x1b873593cc9e2d51ULL % kPrime, 0x0e6546b64a5f3c1bULL % kPrime};

uint64_t multiply(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  const uint64_t sum =
      static_cast<uint64_t>(product & kPrime) + static_cast<uint64_t>(product >> 61);
  return sum >= kPrime ? sum - kPrime : sum;
}
uint64_t add(uint64_t a, uint64_t b) {
  const uint64_t sum = a + b;
  return sum >= kPrime ? sum - kPrime : sum;
}

// The set of a node's strings, queried once per derivation examined.
class SeenTexts {
 public:
  // Returns false if it was in the set.
  bool insert(uint32_t node, const TextHash& text) {
    const Place wanted = {{text.value[0], text.value[1]}, node};
    const auto [place, is_new] =
        places_.insert(wanted.hash(), [&](const Place& other) { return other == wanted; });
    if (is_new) place = wanted;
    return is_new;
  }

 private:
  static constexpr uint32_t kFree = 0xffffffff;
  struct Place {
    uint64_t value[2] = {0, 0};
    uint32_t node = kFree;
    bool empty() const { return node == kFree; }
    uint64_t hash() const { return combine64(value[0], node); }
    bool operator==(const Place&) const = default;
  };
  ProbingTable<Place> places_;
};

class LazyKBest {
 public:
  LazyKBest(const Forest& forest, Scores scores, Roots roots, bool distinct, uint64_t limit)
      : forest_(forest),
        scores_(scores),
        roots_(roots),
        top_(forest.nodes()),
        distinct_(distinct),
        limit_(limit),
        best_(best_edges(forest, scores)),
        state_of_(size_t{forest.nodes()} + 1, kNoState) {}

  KBestResult run(size_t k) {
    KBestResult result;
    for (size_t rank = 0; rank < k; ++rank) {
      result.complete = extend(top_, rank);
      const State& top = state(top_);
      if (top.found.size() <= rank) break;
      const Found& found = top.found[rank];
      result.derivations.push_back(
          {forest_, edges_of(roots_[found.edge], ranks(found)[0]), found.score});
    }
    return result;
  }

 private:
  static constexpr uint32_t kNoState = 0xffffffff;

  // A derivation: an edge and, for each tail, the rank of that node's derivation. The "edges" of
  // the top, an additional node above the roots, are the roots. The ranks are in ranks_.
  struct Candidate {
    double score;
    uint32_t edge;
    size_t ranks;
  };
  struct Found : Candidate {
    TextHash text;
  };
  struct State {
    std::vector<Candidate> heap;  // best on top
    std::vector<Found> found;     // best first
    Candidate last;               // the candidate examined last, while its successors are generated
    uint32_t successor = 0;       // the next tail of it to advance
    bool pending = false;
    bool exhausted = false;
  };

  const uint32_t* ranks(const Candidate& c) const { return ranks_.data() + c.ranks; }
  std::span<const uint32_t> tails(uint32_t node, uint32_t edge) const {
    return node == top_ ? roots_.subspan(edge, 1) : forest_.tails(edge);
  }

  bool worse(const Candidate& a, const Candidate& b, uint32_t node) const {
    if (a.score != b.score) return a.score < b.score;
    if (a.edge != b.edge) return a.edge > b.edge;
    const size_t arity = tails(node, a.edge).size();
    const uint32_t *x = ranks(a), *y = ranks(b);
    return std::lexicographical_compare(y, y + arity, x, x + arity);
  }

  auto order(uint32_t node) const {
    return [this, node](const Candidate& a, const Candidate& b) { return worse(a, b, node); };
  }

  double score(uint32_t node, uint32_t edge, const uint32_t* at) {
    double sum = node == top_ ? 0 : scores_[edge];
    const std::span<const uint32_t> t = tails(node, edge);
    for (size_t i = 0; i < t.size(); ++i) {
      sum += at[i] == 0 ? best_.scores[t[i]] : states_[state_of_[t[i]]].found[at[i]].score;
    }
    return sum;
  }

  State& state(uint32_t node) {
    if (state_of_[node] == kNoState) {
      state_of_[node] = static_cast<uint32_t>(states_.size());
      fill(states_.emplace_back(), node);
    }
    return states_[state_of_[node]];
  }

  // All edges with the best derivations of their tails.
  void fill(State& s, uint32_t node) {
    uint32_t begin = 0, end = static_cast<uint32_t>(roots_.size());
    if (node != top_) std::tie(begin, end) = forest_.in_edges(node);
    for (uint32_t e = begin; e < end; ++e) {
      const size_t arity = tails(node, e).size(), at = ranks_.size();
      ranks_.resize(at + arity, 0);
      const double sum = score(node, e, ranks_.data() + at);
      if (sum == kNever) {
        ranks_.resize(at);
      } else {
        s.heap.push_back({sum, e, at});
      }
    }
    std::make_heap(s.heap.begin(), s.heap.end(), order(node));
  }

  // Computes found[rank] of a node, or that it does not exist. False if the limit was reached.
  // Algorithm 3's LazyKthBest with an explicit stack instead of recursion; the progress of a call
  // is in the node's state, so an entry is only (node, rank).
  bool extend(uint32_t node, size_t rank) {
    std::vector<std::pair<uint32_t, size_t>> calls = {{node, rank}};
    while (!calls.empty()) {
      const auto [v, wanted] = calls.back();
      State& s = state(v);  // elements of a deque do not move
      if (s.found.size() > wanted || s.exhausted) {
        calls.pop_back();
        continue;
      }
      if (s.pending && !advance(v, s, calls)) continue;
      if (s.heap.empty()) {
        s.exhausted = true;
        continue;
      }
      // The text of a candidate requires the first derivations of its tails.
      const Candidate c = s.heap.front();
      if (!ready(v, c, calls)) continue;
      if (looked_at_++ >= limit_) return false;
      if ((looked_at_ & 0xfff) == 0) poll_interrupt();
      std::pop_heap(s.heap.begin(), s.heap.end(), order(v));
      s.heap.pop_back();
      s.last = c;
      s.pending = true;
      s.successor = first_successor(v, c);
      Found found{c, {}};
      if (distinct_) {
        found.text = text_of(v, c);
        if (!seen_.insert(v, found.text)) continue;
      }
      s.found.push_back(found);
    }
    return true;
  }

  // Every vector of ranks is the successor of exactly one other, the one with its last non-zero
  // rank decremented. So only ranks from there on are advanced, and nothing is generated twice.
  uint32_t first_successor(uint32_t v, const Candidate& c) const {
    uint32_t i = static_cast<uint32_t>(tails(v, c.edge).size());
    while (i > 0 && ranks(c)[i - 1] == 0) --i;
    return i == 0 ? 0 : i - 1;
  }

  // LazyNext for s.last; false if another node has to be extended first.
  bool advance(uint32_t v, State& s, std::vector<std::pair<uint32_t, size_t>>& calls) {
    const std::span<const uint32_t> t = tails(v, s.last.edge);
    for (; s.successor < t.size(); ++s.successor) {
      const size_t wanted = ranks(s.last)[s.successor] + size_t{1};
      const State& tail = state(t[s.successor]);
      if (tail.found.size() <= wanted) {
        if (tail.exhausted) continue;
        calls.emplace_back(t[s.successor], wanted);
        return false;
      }
      const size_t at = ranks_.size();
      for (size_t i = 0; i < t.size(); ++i) ranks_.push_back(ranks_[s.last.ranks + i]);
      ++ranks_[at + s.successor];
      s.heap.push_back({score(v, s.last.edge, ranks_.data() + at), s.last.edge, at});
      std::push_heap(s.heap.begin(), s.heap.end(), order(v));
    }
    s.pending = false;
    return true;
  }

  bool ready(uint32_t v, const Candidate& c, std::vector<std::pair<uint32_t, size_t>>& calls) {
    if (!distinct_) return true;
    for (const uint32_t t : tails(v, c.edge)) {
      if (state(t).found.empty()) {
        calls.emplace_back(t, 0);
        return false;
      }
    }
    return true;
  }

  TextHash text_of(uint32_t v, const Candidate& c) {
    const std::span<const uint32_t> t = tails(v, c.edge);
    const auto tail = [&](size_t i) -> const TextHash& {
      return states_[state_of_[t[i]]].found[ranks(c)[i]].text;
    };
    if (v == top_) return tail(0);
    TextHash text;
    for (const int32_t symbol : forest_.target(c.edge)) {
      if (symbol >= 0) {
        text.append(symbol);
      } else {
        text.append(tail(static_cast<size_t>(-1 - symbol)));
      }
    }
    return text;
  }

  std::vector<uint32_t> edges_of(uint32_t root, uint32_t root_rank) {
    std::vector<uint32_t> edges;
    std::vector<std::pair<uint32_t, uint32_t>> open = {{root, root_rank}};
    while (!open.empty()) {
      const auto [v, rank] = open.back();
      open.pop_back();
      // Without texts the best derivation of a node may not have been computed yet.
      const bool known = state_of_[v] != kNoState && states_[state_of_[v]].found.size() > rank;
      const uint32_t edge = known ? states_[state_of_[v]].found[rank].edge : best_.edges[v];
      edges.push_back(edge);
      check_derivation_size(forest_, edges.size());
      const std::span<const uint32_t> t = forest_.tails(edge);
      for (size_t i = t.size(); i-- > 0;) {
        open.emplace_back(t[i], known ? ranks(states_[state_of_[v]].found[rank])[i] : 0);
      }
    }
    return edges;
  }

  const Forest& forest_;
  Scores scores_;
  Roots roots_;
  const uint32_t top_;
  const bool distinct_;
  const uint64_t limit_;
  uint64_t looked_at_ = 0;
  const BestEdges best_;
  std::vector<uint32_t> state_of_;
  std::deque<State> states_;  // only of nodes that were visited
  std::vector<uint32_t> ranks_;
  SeenTexts seen_;
};

}  // namespace

void TextHash::append(const TextHash& other) {
  for (int i = 0; i < 2; ++i) {
    value[i] = add(multiply(value[i], other.power[i]), other.value[i]);
    power[i] = multiply(power[i], other.power[i]);
  }
}

void TextHash::append(int32_t word) {
  // Never 0, so that leading words affect the hash.
  const uint64_t letter = mix64(static_cast<uint64_t>(word) + 1) % (kPrime - 1) + 1;
  for (int i = 0; i < 2; ++i) {
    value[i] = add(multiply(value[i], kBase[i]), letter);
    power[i] = multiply(power[i], kBase[i]);
  }
}

KBestResult kbest(const Forest& forest, Scores scores, Roots roots, size_t k, bool distinct,
                  uint64_t limit) {
  return LazyKBest(forest, scores, roots, distinct, limit).run(k);
}

}  // namespace hopefear
