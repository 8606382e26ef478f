#include "rules/occurrences.hpp"

#include <bit>

#include "base/front_coding.hpp"
#include "base/interrupt.hpp"
#include "rules/hiero.hpp"
#include "rules/phrases.hpp"

namespace hopefear::rules {
namespace {

// Checks that all numbers of a block, which another process sent, are in range.
void check_block(std::span<const uint32_t> block, size_t source_words, size_t target_words) {
  bool good = true;
  for (size_t at = 0; good && at < block.size();) {
    good = at + 3 <= block.size();
    if (!good) break;
    const size_t source = block[at], target = block[at + 1], points = block[at + 2];
    at += 3;
    good = source + target + 2 * points <= block.size() - at;
    if (!good) break;
    for (size_t i = 0; i < source; ++i) good &= block[at + i] < source_words;
    at += source;
    for (size_t i = 0; i < target; ++i) good &= block[at + i] < target_words;
    at += target;
    for (size_t i = 0; i < points; ++i, at += 2) {
      good &= block[at] < source && block[at + 1] < target;
    }
  }
  if (!good) throw InputError("a block of sentence pairs is damaged");
}

}  // namespace

void MergedRecords::add(std::string_view record, double count) {
  const Word key = keys_.add(record);
  if (key == counts_.size()) counts_.push_back(0);
  counts_[key] += count;
}

void MergedRecords::flush(uint64_t sentence, RecordSorter::Shard& shard) {
  for (Word key = 0; key < counts_.size(); ++key) {
    record_ = keys_.word(key);
    append_big_endian(record_, std::bit_cast<uint64_t>(counts_[key]), 8);
    append_big_endian(record_, sentence, 4);
    shard.add(record_);
  }
  keys_.clear();
  counts_.clear();
}

InputError error_of_pair(uint64_t sentence, const SentencePair& pair, const InputError& error) {
  return InputError("sentence pair " + std::to_string(sentence + 1) + ", of " +
                    std::to_string(pair.source.size()) + " and " +
                    std::to_string(pair.target.size()) + " words: " + error.what());
}

void Occurrences::add(uint64_t first, std::span<const uint32_t> block,
                      RecordSorter::Shard& shard) const {
  if (options_.hierarchical()) {
    add_rules(first, block, shard);
  } else {
    add_phrases(first, block, shard);
  }
}

void Occurrences::add_phrases(uint64_t first, std::span<const uint32_t> block,
                              RecordSorter::Shard& shard) const {
  PhraseExtractor extractor(options_.max_length);
  const size_t source_width = source_.width(), target_width = target_.width();
  std::string source, target, record;
  AlignedCorpus::visit_block(first, block, [&](uint64_t sentence, const SentencePair& pair) {
    source_.encode(pair.source, source);
    target_.encode(pair.target, target);
    extractor(pair, [&](const PhraseOccurrence& found) {
      record.assign(source, found.f0 * source_width, (found.f1 - found.f0 + 1) * source_width);
      record += source_.end_mark();
      record.append(target, found.e0 * target_width, (found.e1 - found.e0 + 1) * target_width);
      record += target_.end_mark();
      append_links(record, found.links);
      record +=
          static_cast<char>(3 * static_cast<int>(found.backward) + static_cast<int>(found.forward));
      append_big_endian(record, sentence, 4);
      shard.add(record);
    });
  });
}

void Occurrences::add_rules(uint64_t first, std::span<const uint32_t> block,
                            RecordSorter::Shard& shard) const {
  HieroExtractor extractor(options_.hiero);
  MergedRecords records;
  std::string record;
  AlignedCorpus::visit_block(first, block, [&](uint64_t sentence, const SentencePair& pair) {
    const auto add = [&](const HieroOccurrence& found) {
      source_.encode(found.source, record);
      record += source_.end_mark();
      target_.append(found.target, record);
      record += target_.end_mark();
      append_links(record, found.links);
      records.add(record, 1.0 / found.siblings);
    };
    try {
      extractor(pair, add);
    } catch (const InputError& error) {
      throw error_of_pair(sentence, pair, error);
    }
    records.flush(sentence, shard);
  });
}

RunExtractor::SortedRun RunExtractor::operator()(uint64_t first,
                                                 std::span<const uint32_t> block) const {
  check_block(block, source_.words(), target_.words());
  RecordSorter sorter(options_.memory, 1, options_.scratch_directory);
  Occurrences(options_, source_, target_).add(first, block, sorter.shard(0));
  sorter.sort(1);
  SortedRun run;
  FrontCoder coder;
  std::string_view record;
  while (sorter.next(record)) {
    coder.add(record, run.coded);
    if (++run.records % 4096 == 0) poll_interrupt();
  }
  return run;
}

}  // namespace hopefear::rules
