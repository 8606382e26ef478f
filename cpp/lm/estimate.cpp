#include "lm/estimate.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "lm/arpa_writer.hpp"
#include "lm/estimate_adjust.hpp"
#include "lm/estimate_count.hpp"
#include "lm/estimate_interpolate.hpp"
#include "lm/estimate_storage.hpp"

namespace hopefear::lm {
namespace {

using namespace estimation;

// How the memory is divided: the workspace (blocks of text, later sorting), the vocabulary, a
// twentieth for buffers, and the columns, which get the remainder.
struct Shares {
  explicit Shares(size_t memory)
      : workspace(memory / 20 * 9), vocabulary(memory / 20 * 8), columns(memory / 20 * 10) {
    chunk = std::clamp<size_t>(std::bit_floor(memory / 1024), 512, 256 << 10);
  }
  size_t workspace, vocabulary;
  size_t columns;  // includes the vocabulary
  size_t chunk;
};

void check(const EstimateOptions& options) {
  if (options.order < 1 || options.order > kMaxEstimateOrder) {
    throw InputError("order " + std::to_string(options.order) + ": expected 1 to " +
                     std::to_string(kMaxEstimateOrder));
  }
  if (options.prune.size() > static_cast<size_t>(options.order)) {
    throw InputError("prune: " + std::to_string(options.prune.size()) +
                     " thresholds for a model of order " + std::to_string(options.order) +
                     "; give one per order at most");
  }
  if (!std::is_sorted(options.prune.begin(), options.prune.end())) {
    std::string list;
    for (const uint64_t threshold : options.prune)
      list.append(" ").append(std::to_string(threshold));
    throw InputError("prune" + list +
                     ": a threshold is below that of a lower order; give them in ascending order");
  }
  if (options.fallback.size() > 3) {
    throw InputError("discount fallback: " + std::to_string(options.fallback.size()) +
                     " values; give at most three, for counts 1, 2 and 3 or more");
  }
  for (size_t k = 1; k <= 3 && !options.fallback.empty(); ++k) {
    const double d = options.fallback[std::min(k, options.fallback.size()) - 1];
    if (!(d > 0 && d <= static_cast<double>(k))) {
      throw InputError("discount fallback " + std::to_string(d) + " for count " +
                       std::to_string(k) + ": expected more than 0 and at most " +
                       std::to_string(k));
    }
  }
  if (options.memory < kMinEstimateMemory) {
    throw InputError("memory of " + std::to_string(options.memory) + " bytes: expected at least " +
                     std::to_string(kMinEstimateMemory));
  }
}

// The text of an order's n-grams from the entries of that order and all lower ones, which are read
// side by side.
class Words {
 public:
  Words(std::span<const Column<Entry>> entries, size_t order, const WordNumbers& vocabulary)
      : vocabulary_(vocabulary) {
    for (size_t k = 0; k < order; ++k) levels_.emplace_back(entries[k]);
  }
  // All words but the first of an n-gram of `order` > 1 whose suffix has this rank.
  const std::string& suffix(uint32_t rank) { return text(levels_.size() - 1, rank); }

 private:
  struct Level {
    explicit Level(const Column<Entry>& column) : reader(column) {}
    Column<Entry>::Reader reader;
    uint64_t read = 0;  // number of entries
    std::string text;   // of the last entry
  };
  // The n-gram of that order and rank; ranks never decrease.
  const std::string& text(size_t order, uint32_t rank) {
    Level& level = levels_[order - 1];
    if (level.read > rank) return level.text;
    while (level.read < rank) {
      level.reader.next();
      ++level.read;
    }
    const Entry& entry = level.reader.next();
    ++level.read;
    level.text = vocabulary_.word(entry.word());
    if (order > 1) {
      level.text += ' ';
      level.text += text(order - 1, entry.parent);
    }
    return level.text;
  }
  const WordNumbers& vocabulary_;
  std::vector<Level> levels_;
};

void write_arpa(ByteSink& sink, std::span<const Column<Entry>> entries,
                std::span<const OrderSummary> summaries, std::span<const OrderValues> values,
                const WordNumbers& vocabulary, size_t threads, size_t memory) {
  std::vector<uint64_t> counts;
  for (const OrderSummary& summary : summaries) counts.push_back(summary.kept);
  ArpaWriter writer(sink, counts, threads, memory);
  for (size_t order = 1; order <= entries.size(); ++order) {
    writer.begin_order(static_cast<int>(order));
    const OrderValues& value = values[order - 1];
    const bool highest = order == entries.size();
    Words words(entries, order, vocabulary);
    Column<Entry>::Reader entry_reader(entries[order - 1]);
    Column<float>::Reader probabilities(value.probability), gammas(value.gamma);
    while (!entry_reader.done()) {
      const Entry& entry = entry_reader.next();
      const float probability = probabilities.next();
      const float gamma = highest ? 1.0F : gammas.next();
      if (entry.pruned()) continue;
      const std::string_view rest = order == 1 ? std::string_view() : words.suffix(entry.parent);
      writer.add(probability, vocabulary.word(entry.word()), rest, gamma);
    }
  }
  writer.finish();
}

template <int N>
EstimateReport run(std::span<ByteSource* const> texts, ByteSink& arpa,
                   const EstimateOptions& options, const std::function<void(uint64_t)>& progress) {
  const Shares shares(options.memory);
  const size_t threads = std::max<size_t>(options.threads, 1);
  std::vector<uint64_t> prune = options.prune;
  prune.resize(N, prune.empty() ? 0 : prune.back());

  EstimateReport report;
  Disk disk(options.scratch);
  WordNumbers vocabulary;
  for (const char* word : {"<unk>", "<s>", "</s>"}) vocabulary.add(word);
  std::vector<OrderSummary> summaries(N);
  auto workspace = std::make_unique<Pages>(shares.workspace);
  std::unique_ptr<ChunkPool> pool;
  std::vector<Column<Entry>> entries;
  {
    Counter<N> counter(*workspace, vocabulary, {options.skip_symbols, shares.vocabulary, threads},
                       disk);
    for (ByteSource* text : texts) counter.add(*text, progress);
    report.sentences = counter.sentences();
    report.tokens = counter.tokens();
    report.types = vocabulary.size() - kFirstWord;
    const std::string name = texts.empty() ? "text" : texts.front()->name();
    if (report.tokens == 0) throw InputError(name + ": no words in it; give a text");
    pool = std::make_unique<ChunkPool>(shares.columns - vocabulary.bytes(), shares.chunk, disk);
    for (int k = 0; k < N; ++k) entries.emplace_back(*pool);
    const auto ngrams = counter.finish();
    adjust_counts<N>(*ngrams, prune, entries, summaries);
    set_discounts(summaries, options.fallback, name);
  }
  const std::vector<OrderValues> values =
      interpolate(entries, summaries, *workspace, *pool, threads, disk);
  workspace.reset();
  write_arpa(arpa, entries, summaries, values, vocabulary, threads, shares.workspace);

  for (const OrderSummary& summary : summaries) {
    const Discounts& d = summary.discounts;
    report.orders.push_back(
        {summary.distinct, summary.kept, {d[1], d[2], d[3]}, summary.fell_back});
  }
  report.spilled_bytes = disk.spilled();
  return report;
}

}  // namespace

EstimateReport estimate(std::span<ByteSource* const> texts, ByteSink& arpa,
                        const EstimateOptions& options,
                        const std::function<void(uint64_t)>& progress) {
  check(options);
  static_assert(kMaxEstimateOrder == kMaxOrder);
  switch (options.order) {
    case 1:
      return run<1>(texts, arpa, options, progress);
    case 2:
      return run<2>(texts, arpa, options, progress);
    case 3:
      return run<3>(texts, arpa, options, progress);
    case 4:
      return run<4>(texts, arpa, options, progress);
    case 5:
      return run<5>(texts, arpa, options, progress);
    default:
      return run<6>(texts, arpa, options, progress);
  }
}

}  // namespace hopefear::lm
