#include "rules/extract.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include "base/interrupt.hpp"
#include "base/threads.hpp"
#include "rules/occurrences.hpp"
#include "rules/rule_counts.hpp"

namespace hopefear::rules {
namespace {

uint64_t big_endian(std::string_view bytes, size_t at, size_t width) {
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

}  // namespace

Columns phrase_columns(uint32_t reordering) {
  Columns columns;
  columns.names = {"p(f|e)", "lex(f|e)", "p(e|f)", "lex(e|f)"};
  columns.reordering = reordering;
  for (const char* direction : {"bwd", "fwd"}) {
    for (const char* orientation : {"mono", "swap", "other"}) {
      if (columns.names.size() < 4 + reordering) {
        columns.names.push_back(std::string("reorder.") + direction + "." + orientation);
      }
    }
  }
  return columns;
}

Columns hiero_columns() {
  Columns columns;
  columns.names = {"p(f|e)",   "lex(f|e)",   "p(e|f)",       "lex(e|f)",
                   "count(f)", "count(f,e)", "singleton(f)", "singleton(f,e)"};
  return columns;
}

RuleExtraction::RuleExtraction(ExtractOptions options) : options_(std::move(options)) {}
RuleExtraction::~RuleExtraction() = default;

void RuleExtraction::begin_step(int step) {
  if (steps_ != step)
    throw std::logic_error("call read, extract, count and write in this order, once");
  ++steps_;
}

const AlignedCorpus& RuleExtraction::corpus() const {
  if (corpus_ == nullptr) throw std::logic_error("call read first");
  return *corpus_;
}

void RuleExtraction::read(ByteSource& source, ByteSource& target, ByteSource& alignment,
                          const Progress& progress) {
  begin_step(0);
  corpus_ = std::make_unique<AlignedCorpus>(source, target, alignment, options_.scratch_directory,
                                            progress);
  // Nonterminals: one label on the source side, their numbers on the target side.
  const uint32_t labels = options_.hierarchical ? 1 : 0, places = options_.hierarchical ? 2 : 0;
  source_codec_ = std::make_unique<PhraseCodec>(corpus_->source_words(), labels);
  target_codec_ = std::make_unique<PhraseCodec>(corpus_->target_words(), places);
}

// The memory for sorting: the configured memory minus the data that must stay in memory.
uint64_t RuleExtraction::budget() const {
  constexpr uint64_t kLeast = uint64_t{1} << 20;
  const uint64_t held = corpus_->bytes() + (uint64_t{4} << 20);  // 4 MB for the buffers of streams
  return std::max(kLeast, options_.memory > held ? options_.memory - held : 0);
}

void RuleExtraction::extract(const Progress& progress) {
  begin_step(1);
  occurrences_ =
      std::make_unique<RecordSorter>(budget() / 2, options_.threads, options_.scratch_directory);
  // Blocks are added to any free shard, since the merged order does not depend on the shard.
  std::mutex mutex;
  std::vector<size_t> free(options_.threads);
  std::iota(free.begin(), free.end(), size_t{0});
  uint64_t done = 0;
  const Occurrences occurrences(options_, *source_codec_, *target_codec_);
  parallel_for(corpus_->blocks(), options_.threads, [&](size_t block) {
    size_t shard;
    {
      const std::lock_guard lock(mutex);
      shard = free.back();
      free.pop_back();
    }
    occurrences.add(corpus_->first_sentence(block), corpus_->data(block),
                    occurrences_->shard(shard));
    const std::lock_guard lock(mutex);
    free.push_back(shard);
    done += corpus_->first_sentence(block + 1) - corpus_->first_sentence(block);
    progress(done);
  });
  occurrences_->sort(options_.threads);
}

void RuleExtraction::begin_runs() {
  begin_step(1);
  occurrences_ = std::make_unique<RecordSorter>(budget() / 2, 1, options_.scratch_directory);
}

void RuleExtraction::add_run(std::string_view run, uint64_t records) {
  if (steps_ != 2 || occurrences_ == nullptr) throw std::logic_error("call begin_runs first");
  occurrences_->add_run(run, records);
}

void RuleExtraction::end_runs() { occurrences_->sort(options_.threads); }

void RuleExtraction::count(const Progress& progress) {
  begin_step(2);
  pair_stream_ = std::make_unique<ScratchStream>(options_.scratch_directory);
  targets_ =
      std::make_unique<RecordSorter>(budget() / 4, options_.threads, options_.scratch_directory);
  RuleCounts pair;
  AlignmentVotes votes;
  std::string key, target_record;
  size_t source_bytes = 0, source_length = 0, target_length = 0;
  const auto finish = [&] {
    if (pair.occurrences == 0) return;
    pair.source.clear();
    pair.target.clear();
    source_codec_->decode(key, source_length, pair.source);
    target_codec_->decode(std::string_view(key).substr(source_bytes), target_length, pair.target);
    votes.decide(pair);
    pair.write(*pair_stream_);
    target_record.assign(key, source_bytes);
    append_big_endian(target_record, pairs_, 8);
    append_big_endian(target_record, std::bit_cast<uint64_t>(pair.joint), 8);
    targets_->shard(pairs_ % targets_->shards()).add(target_record);
    if (++pairs_ % 4096 == 0) {
      poll_interrupt();
      progress(pairs_);
    }
  };
  std::string_view record;
  while (occurrences_->next(record)) {
    // Equal bytes up to the length of the old key mean the same pair: the end marks are in it.
    const bool same = !key.empty() && record.starts_with(key);
    if (!same) {
      finish();
      source_length = source_codec_->length(record);
      source_bytes = (source_length + 1) * source_codec_->width();
      target_length = target_codec_->length(record.substr(source_bytes));
      key = record.substr(0, source_bytes + (target_length + 1) * target_codec_->width());
      votes.clear();
      pair.joint = 0;
      pair.occurrences = 0;
      pair.backward = pair.forward = {};
    }
    const size_t links = big_endian(record, key.size(), 2);
    size_t rest = key.size() + 2 + 2 * links;
    double weight = 1;
    if (options_.hierarchical) {
      weight = std::bit_cast<double>(big_endian(record, rest, 8));
      rest += 8;
    } else {
      const uint8_t orientations = static_cast<uint8_t>(record[rest++]);
      ++pair.backward[orientations / 3];
      ++pair.forward[orientations % 3];
    }
    votes.add(record.substr(key.size() + 2, 2 * links), weight);
    const uint32_t sentence = static_cast<uint32_t>(big_endian(record, rest, 4));
    if (pair.occurrences == 0) {
      pair.sentence = sentence;
    } else if (pair.sentence != sentence) {
      pair.sentence = kManySentences;
    }
    ++pair.occurrences;
    pair.joint += weight;
  }
  finish();
  occurrences_->clear();
  count_targets();
  progress(pairs_);
}

// For each pair, in the order of pairs, the number of times its target side was extracted.
void RuleExtraction::count_targets() {
  target_counts_ =
      std::make_unique<RecordSorter>(budget() / 2, options_.threads, options_.scratch_directory);
  targets_->sort(options_.threads);
  std::string key, out;
  std::vector<uint64_t> members;  // the pairs with this target side
  double total = 0;
  const auto finish = [&] {
    for (const uint64_t member : members) {
      out.clear();
      append_big_endian(out, member, 8);
      append_big_endian(out, std::bit_cast<uint64_t>(total), 8);
      target_counts_->shard(member % target_counts_->shards()).add(out);
    }
    poll_interrupt();
  };
  std::string_view record;
  while (targets_->next(record)) {
    const std::string_view target = record.substr(0, record.size() - 16);
    if (target != key) {
      finish();
      key = target;
      members.clear();
      total = 0;
    }
    members.push_back(big_endian(record, target.size(), 8));
    total += std::bit_cast<double>(big_endian(record, target.size() + 8, 8));
  }
  finish();
  targets_->clear();
  target_counts_->sort(options_.threads);
}

}  // namespace hopefear::rules
