#include "base/external_sorter.hpp"

namespace hopefear {
namespace {

constexpr size_t kBlock = size_t{1} << 16;

std::string_view record_at(const char* data) {
  return SizedRecords::record(data, SizedRecords::size(data, sizeof(uint32_t)));
}

uint64_t prefix_at(std::string_view record, size_t depth) {
  uint64_t prefix = 0;
  if (record.size() >= depth + 8) {
    std::memcpy(&prefix, record.data() + depth, 8);
  } else if (record.size() > depth) {
    std::memcpy(&prefix, record.data() + depth, record.size() - depth);
  }
  return __builtin_bswap64(prefix);
}

}  // namespace

// A run while it is merged: entries in memory or a part of a scratch file, front-coded or not.
class RecordSorter::Stream {
 public:
  explicit Stream(const std::vector<Shard::Entry>& entries) : entries_(&entries) {}
  explicit Stream(RunReader<SizedRecords> reader) : reader_(std::move(reader)) {}
  explicit Stream(FrontDecoder decoder) : decoder_(std::move(decoder)) {}

  bool next() {
    if (entries_ != nullptr) {
      if (at_ == entries_->size()) return false;
      record_ = record_at((*entries_)[at_++].data);
      return true;
    }
    if (decoder_.has_value()) {
      if (!decoder_->next()) return false;
      record_ = decoder_->record();
      return true;
    }
    if (!reader_->next()) return false;
    record_ = reader_->record();
    return true;
  }
  std::string_view record() const { return record_; }
  bool before(const Stream& other) const { return record_ < other.record_; }

 private:
  const std::vector<Shard::Entry>* entries_ = nullptr;
  size_t at_ = 0;
  std::optional<RunReader<SizedRecords>> reader_;
  std::optional<FrontDecoder> decoder_;
  std::string_view record_;
};

RecordSorter::Shard::Shard(uint64_t memory, std::string scratch_directory)
    : memory_(memory), scratch_directory_(std::move(scratch_directory)) {}

char* RecordSorter::Shard::allocate(size_t size) {
  if (size > block_left_) {
    const size_t wanted = std::max(size, kBlock);
    if (wanted == kBlock && !free_blocks_.empty()) {
      blocks_.push_back(std::move(free_blocks_.back()));
      free_blocks_.pop_back();
    } else {
      blocks_.push_back(std::make_unique_for_overwrite<char[]>(wanted));
    }
    held_ += wanted;
    block_next_ = blocks_.back().get();
    block_left_ = wanted;
  }
  char* result = block_next_;
  block_next_ += size;
  block_left_ -= size;
  return result;
}

void RecordSorter::Shard::add(std::string_view record) {
  const size_t size = sizeof(uint32_t) + record.size();
  // The memory that the next step may take: a block, and twice the vector while it grows.
  const bool grows = entries_.size() == entries_.capacity();
  const uint64_t vector = entries_.capacity() * sizeof(Entry) * (grows ? 3 : 1);
  const uint64_t block = size > block_left_ ? std::max(size, kBlock) : 0;
  if (!entries_.empty() && held_ + block + vector > memory_) spill();
  char* data = allocate(size);
  const uint32_t length = static_cast<uint32_t>(record.size());
  std::memcpy(data, &length, sizeof(length));
  std::memcpy(data + sizeof(length), record.data(), record.size());
  entries_.push_back({prefix_at(record, 0), data});
  ++records_;
}

// Sorts by eight bytes at a time: comparing whole records through their pointers took three times
// as long, as each comparison missed the cache.
void RecordSorter::Shard::sort_entries(Entry* begin, Entry* end, size_t depth) {
  const auto by_prefix = [](const Entry& a, const Entry& b) { return a.prefix < b.prefix; };
  const auto go_deeper = [&depth](Entry* first, Entry* last) {
    for (Entry* e = first; e != last; ++e) e->prefix = prefix_at(record_at(e->data), depth + 8);
  };
  // Records with a common prefix: a loop instead of recursion, for any length of the prefix.
  while (end - begin > 6) {
    std::sort(begin, end, by_prefix);
    if (begin->prefix != end[-1].prefix) break;
    // One of them ends here: then all of them are equal (see the header).
    if (record_at(begin->data).size() <= depth + 8) return;
    go_deeper(begin, end);
    depth += 8;
  }
  if (end - begin <= 6) {
    std::sort(begin, end, [depth](const Entry& a, const Entry& b) {
      if (a.prefix != b.prefix) return a.prefix < b.prefix;
      const std::string_view x = record_at(a.data), y = record_at(b.data);
      return x.substr(std::min(depth, x.size())) < y.substr(std::min(depth, y.size()));
    });
    return;
  }
  size_t groups = 0;
  for (Entry* first = begin; first != end;) {
    if (depth == 0 && ++groups % 1024 == 0) poll_interrupt();
    Entry* last = first + 1;
    while (last != end && last->prefix == first->prefix) ++last;
    if (last - first > 1 && record_at(first->data).size() > depth + 8) {
      go_deeper(first, last);
      sort_entries(first, last, depth + 8);
    }
    first = last;
  }
}

void RecordSorter::Shard::sort() {
  sort_entries(entries_.data(), entries_.data() + entries_.size(), 0);
}

void RecordSorter::Shard::spill() {
  sort();
  if (scratch_ == nullptr) scratch_ = std::make_unique<ScratchFile>(scratch_directory_);
  const uint64_t begin = scratch_->size();
  std::string out;
  out.reserve(kBlock);
  for (const Entry& entry : entries_) {
    const size_t size = sizeof(uint32_t) + record_at(entry.data).size();
    if (out.size() + size > kBlock) {
      scratch_->append(out.data(), out.size());
      out.clear();
    }
    out.append(entry.data, size);
  }
  scratch_->append(out.data(), out.size());
  runs_.push_back({begin, scratch_->size()});
  entries_.clear();
  // Blocks of single large records are not kept.
  if (held_ == blocks_.size() * kBlock) {
    for (auto& block : blocks_) free_blocks_.push_back(std::move(block));
  }
  blocks_.clear();
  held_ = 0;
  block_left_ = 0;
}

RecordSorter::RecordSorter(uint64_t memory, size_t shards, const std::string& scratch_directory)
    : memory_(memory), scratch_directory_(scratch_directory) {
  shards = std::max<size_t>(shards, 1);
  for (size_t i = 0; i < shards; ++i) {
    shards_.push_back(std::make_unique<Shard>(
        std::max<uint64_t>(memory / shards, uint64_t{1} << 18), scratch_directory));
  }
}

RecordSorter::~RecordSorter() = default;

void RecordSorter::add_run(std::string_view coded, uint64_t records) {
  if (received_ == nullptr) received_ = std::make_unique<ScratchFile>(scratch_directory_);
  const uint64_t begin = received_->size();
  received_->append(coded.data(), coded.size());
  received_runs_.push_back({begin, received_->size()});
  received_records_ += records;
}

void RecordSorter::sort(size_t threads) {
  size_t runs = received_runs_.size();
  for (const auto& shard : shards_) runs += shard->runs_.size();
  parallel_for(shards_.size(), threads, [&](size_t i) {
    Shard& shard = *shards_[i];
    // If anything was spilled, spills the rest too: merging needs the memory for its buffers.
    if (runs > 0 && !shard.entries_.empty()) {
      shard.spill();
    } else {
      shard.sort();
    }
    shard.free_blocks_.clear();
    if (shard.entries_.empty()) shard.entries_.shrink_to_fit();
  });
  runs = received_runs_.size();
  for (const auto& shard : shards_) runs += shard->runs_.size();
  const size_t buffer = static_cast<size_t>(
      std::clamp<uint64_t>(memory_ / std::max<size_t>(runs, 1), size_t{1} << 14, size_t{1} << 20));
  for (const auto& shard : shards_) {
    if (!shard->entries_.empty()) streams_.emplace_back(shard->entries_);
    for (const Run& run : shard->runs_) {
      std::vector<char>& space = buffers_.emplace_back(buffer);
      streams_.emplace_back(RunReader<SizedRecords>(*shard->scratch_, run, space));
    }
  }
  for (const Run& run : received_runs_) {
    streams_.emplace_back(FrontDecoder(*received_, run.begin, run.end, buffer));
  }
  heap_.start(streams_);
}

bool RecordSorter::next(std::string_view& record) {
  // Advances the stream of the last returned record only now, since its bytes had to stay valid.
  if (started_ && !heap_.empty()) heap_.advance();
  started_ = true;
  if (heap_.empty()) return false;
  record = heap_.top().record();
  return true;
}

void RecordSorter::clear() {
  cleared_records_ = records();
  cleared_spilled_ = spilled();
  heap_.clear();
  streams_.clear();
  buffers_ = {};
  shards_.clear();
  received_runs_.clear();
  received_.reset();
  received_records_ = 0;
}

uint64_t RecordSorter::records() const {
  uint64_t sum = cleared_records_ + received_records_;
  for (const auto& shard : shards_) sum += shard->records_;
  return sum;
}

uint64_t RecordSorter::spilled() const {
  uint64_t sum = cleared_spilled_ + (received_ == nullptr ? 0 : received_->size());
  for (const auto& shard : shards_) {
    if (shard->scratch_ != nullptr) sum += shard->scratch_->size();
  }
  return sum;
}

}  // namespace hopefear
