#include "rules/extract.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include "base/interrupt.hpp"
#include "base/threads.hpp"
#include "rules/phrase_pair.hpp"

namespace hopefear::rules {
namespace {

void append_big_endian(std::string& bytes, uint64_t value, size_t width) {
  for (size_t i = width; i-- > 0;) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

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

PhraseExtraction::PhraseExtraction(ExtractOptions options) : options_(std::move(options)) {}
PhraseExtraction::~PhraseExtraction() = default;

void PhraseExtraction::begin_step(int step) {
  if (steps_ != step) throw std::logic_error("read, extract, count, write: in this order, once");
  ++steps_;
}

const AlignedCorpus& PhraseExtraction::corpus() const {
  if (corpus_ == nullptr) throw std::logic_error("read comes first");
  return *corpus_;
}

void PhraseExtraction::read(ByteSource& source, ByteSource& target, ByteSource& alignment,
                            const Progress& progress) {
  begin_step(0);
  corpus_ = std::make_unique<AlignedCorpus>(source, target, alignment, options_.scratch_directory,
                                            progress);
  source_codec_ = std::make_unique<PhraseCodec>(corpus_->source_words());
  target_codec_ = std::make_unique<PhraseCodec>(corpus_->target_words());
}

// What sorting may take: what was asked for, less what has to stay in memory.
uint64_t PhraseExtraction::budget() const {
  constexpr uint64_t kLeast = uint64_t{1} << 20;
  const uint64_t held = corpus_->bytes() + (uint64_t{4} << 20);  // and the buffers of streams
  return std::max(kLeast, options_.memory > held ? options_.memory - held : 0);
}

// A record: source, end mark, target, end mark, number of links (2 bytes), links as target and
// source, orientations (1), sentence (4).
void PhraseExtraction::add_occurrences(RecordSorter::Shard& shard, size_t block) const {
  PhraseExtractor extractor(options_.max_length);
  const size_t source_width = source_codec_->width(), target_width = target_codec_->width();
  std::string source, target, record;
  corpus_->read(block, [&](uint64_t sentence, const SentencePair& pair) {
    source_codec_->encode(pair.source, source);
    target_codec_->encode(pair.target, target);
    extractor(pair, [&](const PhraseOccurrence& found) {
      record.assign(source, found.f0 * source_width, (found.f1 - found.f0 + 1) * source_width);
      record += source_codec_->end_mark();
      record.append(target, found.e0 * target_width, (found.e1 - found.e0 + 1) * target_width);
      record += target_codec_->end_mark();
      append_big_endian(record, found.links.size(), 2);
      for (const Link& link : found.links) {
        record += static_cast<char>(link.target);
        record += static_cast<char>(link.source);
      }
      record +=
          static_cast<char>(3 * static_cast<int>(found.backward) + static_cast<int>(found.forward));
      append_big_endian(record, sentence, 4);
      shard.add(record);
    });
  });
}

void PhraseExtraction::extract(const Progress& progress) {
  begin_step(1);
  occurrences_ =
      std::make_unique<RecordSorter>(budget() / 2, options_.threads, options_.scratch_directory);
  // Blocks go to whichever shard is free: the merged order does not depend on it.
  std::mutex mutex;
  std::vector<size_t> free(options_.threads);
  std::iota(free.begin(), free.end(), size_t{0});
  uint64_t done = 0;
  parallel_for(corpus_->blocks(), options_.threads, [&](size_t block) {
    size_t shard;
    {
      const std::lock_guard lock(mutex);
      shard = free.back();
      free.pop_back();
    }
    add_occurrences(occurrences_->shard(shard), block);
    const std::lock_guard lock(mutex);
    free.push_back(shard);
    const bool last = block + 1 == corpus_->blocks();
    done += (last ? corpus_->sentences() : corpus_->first_sentence(block + 1)) -
            corpus_->first_sentence(block);
    progress(done);
  });
  occurrences_->sort(options_.threads);
}

void PhraseExtraction::count(const Progress& progress) {
  begin_step(2);
  pair_stream_ = std::make_unique<ScratchStream>(options_.scratch_directory);
  targets_ =
      std::make_unique<RecordSorter>(budget() / 4, options_.threads, options_.scratch_directory);
  PhrasePair pair;
  AlignmentVotes votes;
  std::string key, target_record;
  size_t source_bytes = 0, source_length = 0, target_length = 0;
  const auto finish = [&] {
    if (pair.joint == 0) return;
    pair.source.clear();
    pair.target.clear();
    source_codec_->decode(key, source_length, pair.source);
    target_codec_->decode(std::string_view(key).substr(source_bytes), target_length, pair.target);
    votes.decide(pair);
    pair.write(*pair_stream_);
    target_record.assign(key, source_bytes);
    append_big_endian(target_record, pairs_, 8);
    append_big_endian(target_record, pair.joint, 4);
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
      pair.backward = pair.forward = {};
    }
    const size_t links = big_endian(record, key.size(), 2);
    votes.add(record.substr(key.size() + 2, 2 * links));
    const size_t rest = key.size() + 2 + 2 * links;
    const uint8_t orientations = static_cast<uint8_t>(record[rest]);
    ++pair.backward[orientations / 3];
    ++pair.forward[orientations % 3];
    const uint32_t sentence = static_cast<uint32_t>(big_endian(record, rest + 1, 4));
    if (pair.joint == 0) {
      pair.sentence = sentence;
    } else if (pair.sentence != sentence) {
      pair.sentence = kManySentences;
    }
    ++pair.joint;
  }
  finish();
  occurrences_->clear();
  count_targets();
  progress(pairs_);
}

// For each pair, in the order of pairs, how often its target side was extracted.
void PhraseExtraction::count_targets() {
  target_counts_ =
      std::make_unique<RecordSorter>(budget() / 2, options_.threads, options_.scratch_directory);
  targets_->sort(options_.threads);
  std::string key, out;
  std::vector<uint64_t> members;  // the pairs with this target side
  uint64_t total = 0;
  const auto finish = [&] {
    for (const uint64_t member : members) {
      out.clear();
      append_big_endian(out, member, 8);
      append_big_endian(out, total, 8);
      target_counts_->shard(member % target_counts_->shards()).add(out);
    }
    poll_interrupt();
  };
  std::string_view record;
  while (targets_->next(record)) {
    const std::string_view target = record.substr(0, record.size() - 12);
    if (target != key) {
      finish();
      key = target;
      members.clear();
      total = 0;
    }
    members.push_back(big_endian(record, target.size(), 8));
    total += big_endian(record, target.size() + 8, 4);
  }
  finish();
  targets_->clear();
  target_counts_->sort(options_.threads);
}

}  // namespace hopefear::rules
