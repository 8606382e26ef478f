#include "lm/estimate_adjust.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace hopefear::lm::estimation {
namespace {

constexpr uint64_t kMaxRank = (uint64_t{1} << 32) - 1;

// The state of the scan: the open n-grams of orders 1, 2, ..., each the suffix of the next.
template <int N>
class Scan {
 public:
  Scan(std::span<const uint64_t> prune, std::span<Column<Entry>> columns,
       std::span<OrderSummary> summaries)
      : prune_(prune), columns_(columns), summaries_(summaries) {
    // <unk> and <s> end no n-gram: their adjusted count is 0.
    for (const WordId special : {kUnknown, kBegin}) {
      columns_[0].append(Entry(special, false, 0, 0));
      ++summaries_[0].kept;
    }
  }

  void add(const Ngram<N>& ngram) {
    int shared = 0;
    while (shared < depth_ && ngram.words[shared] == open_[shared].word) ++shared;
    close_to(shared);
    for (; depth_ < N && ngram.words[depth_] != kUnknown; ++depth_) {
      uint32_t parent = 0;
      if (depth_ > 0) {
        parent = static_cast<uint32_t>(columns_[depth_ - 1].size());  // the next to be closed
        ++open_[depth_ - 1].lefts;
      }
      open_[depth_] = {ngram.words[depth_], parent, 0, 0};
    }
    open_[depth_ - 1].raw += ngram.count;
  }

  void finish() {
    close_to(0);
    for (int k = 0; k < N; ++k) {
      columns_[k].finish();
      summaries_[k].distinct = columns_[k].size();
    }
    // lmplz enters the last n-gram (in suffix order) of each order below N into these statistics
    // with its raw count instead of the adjusted one. We do the same for equal numbers.
    for (int k = 0; k < N - 1; ++k) {
      std::array<uint64_t, 5>& with_count = summaries_[k].with_count;
      if (last_[k].adjusted < with_count.size()) --with_count[last_[k].adjusted];
      if (last_[k].raw < with_count.size()) ++with_count[last_[k].raw];
    }
  }

 private:
  struct Open {
    WordId word;
    uint32_t parent;
    uint32_t raw;    // count in the text
    uint32_t lefts;  // different words to its left
  };
  struct Closed {
    uint32_t raw, adjusted;
  };

  // Closes the open n-grams of orders above `depth` and writes their entries.
  void close_to(int depth) {
    while (depth_ > depth) {
      const int k = --depth_;
      const Open& done = open_[k];
      const bool keeps_raw = k == N - 1 || done.word == kBegin;
      const uint32_t adjusted = keeps_raw ? done.raw : done.lefts;
      const bool special = k == 0 && done.word < kFirstWord;
      const bool pruned = done.raw <= prune_[k] && !special;
      if (columns_[k].size() == kMaxRank) {
        throw InputError("more than 4,294,967,295 different n-grams of order " +
                         std::to_string(k + 1) + "; use a smaller --order or less text");
      }
      columns_[k].append(Entry(done.word, pruned, done.parent, adjusted));
      OrderSummary& summary = summaries_[k];
      summary.kept += !pruned;
      if (adjusted < summary.with_count.size()) ++summary.with_count[adjusted];
      last_[k] = {done.raw, adjusted};
      if (k > 0) open_[k - 1].raw += done.raw;
    }
  }

  std::span<const uint64_t> prune_;
  std::span<Column<Entry>> columns_;
  std::span<OrderSummary> summaries_;
  std::array<Open, N> open_;
  std::array<Closed, N> last_ = {};
  int depth_ = 0;
};

// Chen and Goodman 1998, equation 26. In float, like lmplz, so that a discount on the edge of its
// range falls on the same side.
bool discounts_of(const OrderSummary& summary, Discounts& discounts) {
  std::array<float, 5> t;
  std::copy(summary.with_count.begin(), summary.with_count.end(), t.begin());
  if (t[1] == 0 || t[2] == 0 || t[3] == 0) return false;
  const float y = t[1] / (t[1] + 2 * t[2]);
  for (int k = 1; k <= 3; ++k) {
    const auto wanted = static_cast<float>(k);
    const float d = wanted - (wanted + 1) * y * t[k + 1] / t[k];
    if (!(d >= 0 && d <= wanted)) return false;
    discounts[k] = d;
  }
  return true;
}

}  // namespace

template <int N>
void adjust_counts(NgramStream<N>& ngrams, std::span<const uint64_t> prune,
                   std::span<Column<Entry>> columns, std::span<OrderSummary> summaries) {
  Scan<N> scan(prune, columns, summaries);
  for (auto batch = ngrams.next_batch(); !batch.empty(); batch = ngrams.next_batch()) {
    for (const Ngram<N>& ngram : batch) scan.add(ngram);
  }
  scan.finish();
}

template void adjust_counts(NgramStream<1>&, std::span<const uint64_t>, std::span<Column<Entry>>,
                            std::span<OrderSummary>);
template void adjust_counts(NgramStream<2>&, std::span<const uint64_t>, std::span<Column<Entry>>,
                            std::span<OrderSummary>);
template void adjust_counts(NgramStream<3>&, std::span<const uint64_t>, std::span<Column<Entry>>,
                            std::span<OrderSummary>);
template void adjust_counts(NgramStream<4>&, std::span<const uint64_t>, std::span<Column<Entry>>,
                            std::span<OrderSummary>);
template void adjust_counts(NgramStream<5>&, std::span<const uint64_t>, std::span<Column<Entry>>,
                            std::span<OrderSummary>);
template void adjust_counts(NgramStream<6>&, std::span<const uint64_t>, std::span<Column<Entry>>,
                            std::span<OrderSummary>);

void set_discounts(std::span<OrderSummary> summaries, std::span<const double> fallback,
                   const std::string& text_name) {
  for (size_t k = 0; k < summaries.size(); ++k) {
    OrderSummary& summary = summaries[k];
    if (discounts_of(summary, summary.discounts)) continue;
    if (fallback.empty()) {
      std::string found;
      for (int count = 1; count <= 4; ++count) {
        found += (count > 1 ? ", " : "") + std::to_string(summary.with_count[count]);
      }
      throw InputError(text_name + ": no Kneser-Ney discounts for order " + std::to_string(k + 1) +
                       ": " + found +
                       " n-grams have adjusted counts 1, 2, 3, 4; the text is too small or not "
                       "natural: use more text, a smaller --order, or --discount-fallback");
    }
    summary.fell_back = true;
    for (size_t count = 1; count <= 3; ++count) {
      summary.discounts[count] = fallback[std::min(count, fallback.size()) - 1];
    }
  }
}

}  // namespace hopefear::lm::estimation
