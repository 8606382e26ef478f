#include "rules/extract.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include "base/error.hpp"
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

// The most frequent of a pair's fragments, encoded; ties go to the first in the order of bytes.
class FragmentVotes {
 public:
  void clear() { votes_.clear(); }
  void add(std::string_view fragment, double count) {
    for (auto& [known, total] : votes_) {
      if (known != fragment) continue;
      total += count;
      return;
    }
    votes_.emplace_back(fragment, count);
  }
  void decide(RuleCounts& pair) const {
    pair.fragment.clear();
    if (votes_.empty()) return;
    const auto& best = *std::ranges::max_element(votes_, [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second < b.second : a.first > b.first;
    });
    for (size_t i = 0; i < best.first.size(); i += 2) {
      pair.fragment.push_back(static_cast<uint16_t>(big_endian(best.first, i, 2)));
    }
  }

 private:
  std::vector<std::pair<std::string, double>> votes_;
};

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

Columns tree_columns() {
  Columns columns = hiero_columns();
  columns.names.emplace_back("p(r|root)");
  return columns;
}

Columns RuleExtraction::columns() const {
  switch (options_.kind) {
    case ExtractOptions::Kind::phrase:
      return phrase_columns(options_.reordering);
    case ExtractOptions::Kind::tree:
      return tree_columns();
    default:
      return hiero_columns();
  }
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
                          ByteSource* trees, const Progress& progress) {
  begin_step(0);
  corpus_ = std::make_unique<AlignedCorpus>(source, target, alignment, options_.scratch_directory,
                                            progress);
  // Nonterminals: labels on the source side; on the target side their numbers, then labels.
  uint32_t labels = options_.hierarchical() ? 1 : 0, places = options_.hierarchical() ? 2 : 0;
  if (options_.labelled()) {
    trees_ = std::make_unique<TreeCorpus>(*trees, *corpus_, options_.binarisation,
                                          options_.scratch_directory, progress);
    labels = static_cast<uint32_t>(trees_->labels().size());
    constexpr uint32_t kMostLabels = 0xfff0, kMostSpanLabels = 1000;
    const bool samt = options_.kind == ExtractOptions::Kind::samt;
    if (const uint32_t most = samt ? kMostSpanLabels : kMostLabels; labels > most) {
      throw InputError(trees->name() + ": " + std::to_string(labels) + " labels, at most " +
                       std::to_string(most) + " can be used; remove function tags and indices");
    }
    if (samt) {
      span_labels_ = std::make_unique<SpanLabelNumbers>(labels);
      labels = span_labels_->size();
    }
    places = kMostPlaces + labels;
    label_used_.assign(labels, false);
    root_counts_.assign(labels, 0);
  }
  source_codec_ = std::make_unique<PhraseCodec>(corpus_->source_words(), labels);
  target_codec_ = std::make_unique<PhraseCodec>(corpus_->target_words(), places);
}

// The memory for sorting: the configured memory minus the data that must stay in memory.
uint64_t RuleExtraction::budget() const {
  constexpr uint64_t kLeast = uint64_t{1} << 20;
  const uint64_t held = corpus_->bytes() + (uint64_t{4} << 20);  // 4 MB for the buffers of streams
  return std::max(kLeast, options_.memory > held ? options_.memory - held : 0);
}

// As Occurrences::add_rules, with the labels of target spans.
void RuleExtraction::add_labelled_rules(RecordSorter::Shard& shard, size_t block) {
  HieroExtractor extractor(options_.hiero);
  std::vector<syntax::Tree> trees;
  SpanLabels labels(*span_labels_);
  trees_->read(block, trees);
  MergedRecords records;
  std::string record;
  corpus_->read(block, [&](uint64_t sentence, const SentencePair& pair) {
    const auto add = [&](const HieroOccurrence& found) {
      source_codec_->encode(found.source, record);
      record += source_codec_->end_mark();
      target_codec_->append(found.target, record);
      const Symbol label = kNonterminal | (kMostPlaces + found.label);
      target_codec_->append({&label, 1}, record);
      record += target_codec_->end_mark();
      append_links(record, found.links);
      records.add(record, 1.0 / found.siblings);
    };
    labels.read(trees[sentence - corpus_->first_sentence(block)], pair.target.size());
    try {
      extractor(pair, add, &labels);
    } catch (const InputError& error) {
      throw error_of_pair(sentence, pair, error);
    }
    records.flush(sentence, shard);
  });
}

// Occurrences of a rule with the same links and fragment in a sentence pair share a record, too.
void RuleExtraction::add_tree_rules(RecordSorter::Shard& shard, size_t block) {
  GhkmExtractor extractor(options_.ghkm);
  std::vector<syntax::Tree> trees;
  trees_->read(block, trees);
  MergedRecords records;
  std::string record;
  corpus_->read(block, [&](uint64_t sentence, const SentencePair& pair) {
    const auto add = [&](const GhkmOccurrence& found) {
      source_codec_->encode(found.source, record);
      record += source_codec_->end_mark();
      target_codec_->append(found.target, record);
      const Symbol label = kNonterminal | (kMostPlaces + found.label);
      target_codec_->append({&label, 1}, record);
      record += target_codec_->end_mark();
      append_links(record, found.links);
      append_big_endian(record, found.fragment.size(), 2);
      for (const uint16_t token : found.fragment) append_big_endian(record, token, 2);
      records.add(record, found.count);
    };
    extractor(pair, trees[sentence - corpus_->first_sentence(block)], add);
    truncated_ += extractor.truncated();
    records.flush(sentence, shard);
  });
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
    if (options_.kind == ExtractOptions::Kind::tree) {
      add_tree_rules(occurrences_->shard(shard), block);
    } else if (options_.kind == ExtractOptions::Kind::samt) {
      add_labelled_rules(occurrences_->shard(shard), block);
    } else {
      occurrences.add(corpus_->first_sentence(block), corpus_->data(block),
                      occurrences_->shard(shard));
    }
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
  FragmentVotes fragments;
  std::string key, target_record;
  size_t source_bytes = 0, source_length = 0, target_length = 0;
  const auto finish = [&] {
    if (pair.occurrences == 0) return;
    pair.source.clear();
    pair.target.clear();
    source_codec_->decode(key, source_length, pair.source);
    target_codec_->decode(std::string_view(key).substr(source_bytes), target_length, pair.target);
    votes.decide(pair);
    target_record.assign(key, source_bytes);
    if (options_.labelled()) {
      fragments.decide(pair);
      split_target(pair);
      use_labels(pair);
      append_target_key(pair, target_record);
    }
    pair.write(*pair_stream_);
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
      fragments.clear();
      pair.joint = 0;
      pair.occurrences = 0;
      pair.backward = pair.forward = {};
    }
    const size_t links = big_endian(record, key.size(), 2);
    size_t rest = key.size() + 2 + 2 * links;
    double weight = 1;
    std::string_view fragment;
    if (options_.kind == ExtractOptions::Kind::tree) {
      const size_t tokens = big_endian(record, rest, 2);
      fragment = record.substr(rest + 2, 2 * tokens);
      rest += 2 + 2 * tokens;
    }
    if (options_.hierarchical()) {
      weight = std::bit_cast<double>(big_endian(record, rest, 8));
      rest += 8;
    } else {
      const uint8_t orientations = static_cast<uint8_t>(record[rest++]);
      ++pair.backward[orientations / 3];
      ++pair.forward[orientations % 3];
    }
    votes.add(record.substr(key.size() + 2, 2 * links), weight);
    if (!fragment.empty()) fragments.add(fragment, weight);
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

// Moves the last symbol of the target side to the label.
void RuleExtraction::split_target(RuleCounts& pair) const {
  pair.label = nonterminal(pair.target.back()) - kMostPlaces;
  pair.target.pop_back();
}

// The target side with labels of nonterminals in place of their numbers, and the label.
void RuleExtraction::append_target_key(const RuleCounts& pair, std::string& key) const {
  std::vector<Symbol> labels, side;
  std::ranges::copy_if(pair.source, std::back_inserter(labels), is_nonterminal);
  for (const Symbol symbol : pair.target) {
    side.push_back(is_nonterminal(symbol)
                       ? kNonterminal | (kMostPlaces + nonterminal(labels[nonterminal(symbol)]))
                       : target_codec_->order()[symbol]);
  }
  side.push_back(kNonterminal | (kMostPlaces + pair.label));
  target_codec_->encode(side, key);
  key += target_codec_->end_mark();
}

void RuleExtraction::use_labels(const RuleCounts& pair) {
  label_used_[pair.label] = true;
  for (const Symbol symbol : pair.source) {
    if (is_nonterminal(symbol)) label_used_[nonterminal(symbol)] = true;
  }
  for (const uint16_t token : pair.fragment) {
    if (token < label_used_.size()) label_used_[token] = true;
  }
  root_counts_[pair.label] += pair.joint;
  ++count_types_[static_cast<uint64_t>(std::max<long long>(1, std::llround(pair.joint)))];
}

// Numbers the labels of a table: those that rules use, in the order of words.
void RuleExtraction::number_labels() {
  if (!options_.labelled()) {
    if (options_.hierarchical()) label_names_.emplace_back(kHieroLabel);
    return;
  }
  std::vector<std::pair<std::string, uint32_t>> used;
  for (uint32_t number = 0; number < label_used_.size(); ++number) {
    if (!label_used_[number]) continue;
    const WordNumbers& names = trees_->labels();
    used.emplace_back(span_labels_ == nullptr ? std::string(names.word(number))
                                              : span_labels_->name(number, names),
                      number);
  }
  if (used.size() >= kNoLabel) {
    throw InputError("rules with " + std::to_string(used.size()) +
                     " different labels, a table holds 65,534; use trees with fewer labels");
  }
  std::ranges::sort(used, [](const auto& a, const auto& b) { return word_less(a.first, b.first); });
  label_numbers_.assign(label_used_.size(), 0);
  for (const auto& [name, number] : used) {
    label_numbers_[number] = static_cast<uint32_t>(label_names_.size());
    label_names_.push_back(name);
  }
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
