#include "lm/estimate_interpolate.hpp"

#include <algorithm>
#include <bit>

namespace hopefear::lm::estimation {
namespace {

// An n-gram h w as a record for sorting by context. With h = v h', the key is the rank of h' and
// the word v; sorting by it gives the n-grams in the order of the entries of their contexts h.
struct ByContext {
  static constexpr uint64_t kPruned = uint64_t{1} << 63;
  uint64_t key_and_flag;
  uint32_t rank;   // of h w
  uint32_t count;  // a(h w)

  uint64_t key() const { return key_and_flag & ~kPruned; }
  bool pruned() const { return (key_and_flag & kPruned) != 0; }
  static bool before(const ByContext& a, const ByContext& b) { return a.key() < b.key(); }
  static bool absorb(const ByContext&) { return false; }
};

// The n-gram with the values of its context, for sorting back by rank.
struct ByRank {
  uint32_t rank;
  uint32_t context;  // rank of h
  float term;        // (a - D(a)) / den(h)
  float gamma;       // of h

  uint64_t key() const { return rank; }
  static bool before(const ByRank& a, const ByRank& b) { return a.rank < b.rank; }
  static bool absorb(const ByRank&) { return false; }
};

// The sums over the words that follow one context; integers, so that the order of summation does
// not matter.
class ContextSums {
 public:
  void add(uint32_t count, bool pruned) {
    total_ += count;
    if (pruned) {
      pruned_ += count;
    } else {
      ++with_count_[std::min(count, uint32_t{3})];
    }
  }
  double total() const { return static_cast<double>(total_); }
  double gamma(const Discounts& discounts) const {
    auto mass = static_cast<double>(pruned_);
    for (int k = 1; k <= 3; ++k) mass += discounts[k] * static_cast<double>(with_count_[k]);
    return mass / total();
  }

 private:
  uint64_t total_ = 0, pruned_ = 0;
  std::array<uint64_t, 4> with_count_ = {};
};

double term(uint32_t count, double total, const Discounts& discounts) {
  return (count - discounts[std::min(count, uint32_t{3})]) / total;
}

// One order after the other. Order k passes the rank of every entry's context, contexts_, to order
// k + 1.
class Interpolation {
 public:
  Interpolation(std::span<const Column<Entry>> entries, std::span<const OrderSummary> summaries,
                const Pages& workspace, ChunkPool& pool, size_t threads, Disk& disk)
      : entries_(entries),
        summaries_(summaries),
        workspace_(workspace),
        threads_(threads),
        disk_(disk),
        contexts_(pool) {
    for (size_t k = 0; k < entries.size(); ++k) values_.emplace_back(pool);
  }

  std::vector<OrderValues> run() {
    unigrams();
    for (size_t order = 2; order <= entries_.size(); ++order) higher(order);
    return std::move(values_);
  }

 private:
  void unigrams() {
    const OrderSummary& summary = summaries_[0];
    ContextSums sums;
    Column<Entry>::Reader first(entries_[0]);
    while (!first.done()) {
      const Entry& entry = first.next();
      sums.add(entry.count, entry.pruned());
    }
    const double types = static_cast<double>(summary.kept - 1);  // without <s>
    const double base = sums.gamma(summary.discounts) / types;
    Column<Entry>::Reader second(entries_[0]);
    while (!second.done()) {
      const Entry& entry = second.next();
      const double p = term(entry.count, sums.total(), summary.discounts) + base;
      // <s> is never predicted; the file says 1.
      values_[0].probability.append(entry.word() == kBegin ? 1.0F : static_cast<float>(p));
      contexts_.append(0);  // the empty context
    }
    values_[0].probability.finish();
    contexts_.finish();
  }

  void higher(size_t order) {
    const auto bits = [](uint64_t n) { return static_cast<unsigned>(std::bit_width(n - 1)); };
    const Column<Entry>& entries = entries_[order - 1];
    const unsigned word_bits = bits(entries_[0].size());
    const unsigned context_bits = order == 2 ? 0 : bits(entries_[order - 3].size());
    const auto spare = [&]<typename T>() { return workspace_.part<T>(2, 3); };

    KeySorter<ByContext> by_context(workspace_.part<ByContext>(0, 3), spare.operator()<ByContext>(),
                                    word_bits + context_bits, threads_, disk_);
    send_to_contexts(order, word_bits, by_context);
    by_context.finish();
    contexts_.clear();

    KeySorter<ByRank> by_rank(workspace_.part<ByRank>(1, 3), spare.operator()<ByRank>(),
                              bits(entries.size()), threads_, disk_);
    sum_contexts(order, word_bits, by_context, by_rank);
    by_rank.finish();
    predict(order, by_rank);
  }

  void send_to_contexts(size_t order, unsigned word_bits, KeySorter<ByContext>& by_context) {
    Column<Entry>::Reader entries(entries_[order - 1]);
    Column<uint32_t>::Reader contexts(contexts_);
    uint64_t parents = 0;  // number of parents read
    uint64_t context = 0;  // the parent's context
    for (uint32_t rank = 0; !entries.done(); ++rank) {
      const Entry& entry = entries.next();
      for (; parents <= entry.parent; ++parents) context = contexts.next();
      const uint64_t flag = entry.pruned() ? ByContext::kPruned : 0;
      by_context.push({context << word_bits | entry.word() | flag, rank, entry.count});
    }
  }

  void sum_contexts(size_t order, unsigned word_bits, KeySorter<ByContext>& by_context,
                    KeySorter<ByRank>& by_rank) {
    const Discounts& discounts = summaries_[order - 1].discounts;
    Column<float>& gammas = values_[order - 2].gamma;
    Column<Entry>::Reader candidates(entries_[order - 2]);
    uint32_t candidate = 0;        // number of candidates read
    std::vector<ByContext> group;  // at most one per word of the vocabulary
    const ByContext* next = by_context.next();
    while (next != nullptr) {
      group.clear();
      ContextSums sums;
      const uint64_t key = next->key();
      for (; next != nullptr && next->key() == key; next = by_context.next()) {
        group.push_back(*next);
        sums.add(next->count, next->pruned());
      }
      // Contexts without successors (they end in </s>) come in between.
      while (true) {
        const Entry& entry = candidates.next();
        ++candidate;
        // The parent of a unigram is 0, the rank of the empty context.
        if ((uint64_t{entry.parent} << word_bits | entry.word()) == key) break;
        gammas.append(1.0F);
      }
      const auto gamma = static_cast<float>(sums.gamma(discounts));
      gammas.append(gamma);
      for (const ByContext& ngram : group) {
        const auto discounted = static_cast<float>(term(ngram.count, sums.total(), discounts));
        by_rank.push({ngram.rank, candidate - 1, discounted, gamma});
      }
    }
    while (!candidates.done()) {
      candidates.next();
      gammas.append(1.0F);
    }
    gammas.finish();
  }

  void predict(size_t order, KeySorter<ByRank>& by_rank) {
    Column<float>& probabilities = values_[order - 1].probability;
    Column<Entry>::Reader entries(entries_[order - 1]);
    Column<float>::Reader lower(values_[order - 2].probability);
    uint64_t parents = 0;
    float lower_probability = 0;
    while (const ByRank* next = by_rank.next()) {
      for (const uint32_t parent = entries.next().parent; parents <= parent; ++parents) {
        lower_probability = lower.next();
      }
      probabilities.append(next->term + next->gamma * lower_probability);
      if (order < entries_.size()) contexts_.append(next->context);
    }
    probabilities.finish();
    contexts_.finish();
  }

  std::span<const Column<Entry>> entries_;
  std::span<const OrderSummary> summaries_;
  const Pages& workspace_;
  size_t threads_;
  Disk& disk_;
  Column<uint32_t> contexts_;
  std::vector<OrderValues> values_;
};

}  // namespace

std::vector<OrderValues> interpolate(std::span<const Column<Entry>> entries,
                                     std::span<const OrderSummary> summaries,
                                     const Pages& workspace, ChunkPool& pool, size_t threads,
                                     Disk& disk) {
  return Interpolation(entries, summaries, workspace, pool, threads, disk).run();
}

}  // namespace hopefear::lm::estimation
