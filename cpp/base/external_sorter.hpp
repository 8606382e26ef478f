// Sorts more records than fit into memory: full buffers are sorted and spilled to scratch files as
// runs, and all runs are merged at the end. Two sorters share the run format and the merging:
//
// - KeySorter sorts records of a fixed size by integer keys: radix sort in the caller's array,
//   with no further memory per record;
// - RecordSorter sorts byte records of any size by their bytes, with one shard per thread.
//
// RunMerger by itself merges runs that are sorted already.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/front_coding.hpp"
#include "base/interrupt.hpp"
#include "base/io.hpp"
#include "base/threads.hpp"

namespace hopefear {

// The scratch files of one job: their directory and the number of bytes written.
class Disk {
 public:
  explicit Disk(std::string directory) : directory_(std::move(directory)) {}
  ScratchFile open() const { return ScratchFile(directory_); }
  void append(ScratchFile& file, const void* data, size_t size) {
    poll_interrupt();
    file.append(data, size);
    spilled_ += size;
  }
  uint64_t spilled() const { return spilled_; }

 private:
  std::string directory_;
  uint64_t spilled_ = 0;
};

// The byte range of a scratch file that holds sorted records.
struct Run {
  uint64_t begin, end;
};

// Record formats of a run. size() returns the size of the first record in bytes, or the number of
// bytes needed to determine it.
template <typename T>
struct FixedRecords {  // T has before(a, b), the order
  using Record = const T&;
  static size_t size(const char*, size_t) { return sizeof(T); }
  static Record record(const char* bytes, size_t) { return *reinterpret_cast<const T*>(bytes); }
  static bool before(const T& a, const T& b) { return T::before(a, b); }
};
struct SizedRecords {  // a 4-byte size, then the bytes; ordered by the bytes
  using Record = std::string_view;
  static size_t size(const char* bytes, size_t available) {
    uint32_t size = 0;
    if (available >= sizeof(size)) std::memcpy(&size, bytes, sizeof(size));
    return sizeof(size) + size;
  }
  static Record record(const char* bytes, size_t size) { return {bytes + 4, size - 4}; }
  static bool before(Record a, Record b) { return a < b; }
};

// Reads the records of a run in order. The buffer belongs to the caller; with FixedRecords its size
// is a multiple of the record size.
template <typename Format>
class RunReader {
 public:
  RunReader(const ScratchFile& file, Run run, std::span<char> buffer)
      : file_(&file), rest_(run), buffer_(buffer), at_(buffer.data()), end_(at_) {}

  bool next() {
    at_ += size_;
    size_ = 0;
    if (at_ == end_ && rest_.begin == rest_.end) return false;
    while ((size_ = Format::size(at_, available())) > available()) refill();
    return true;
  }
  typename Format::Record record() const { return Format::record(at_, size_); }  // until next()
  bool before(const RunReader& other) const { return Format::before(record(), other.record()); }

 private:
  size_t available() const { return static_cast<size_t>(end_ - at_); }
  void refill() {
    const size_t kept = available();
    if (size_ > buffer_.size()) {  // a record larger than the buffer
      std::vector<char> larger(size_);
      std::memcpy(larger.data(), at_, kept);
      larger_.swap(larger);
      buffer_ = larger_;
    } else {
      std::memmove(buffer_.data(), at_, kept);
    }
    const size_t n = std::min<uint64_t>(buffer_.size() - kept, rest_.end - rest_.begin);
    file_->read_at(rest_.begin, buffer_.data() + kept, n);
    poll_interrupt();
    rest_.begin += n;
    at_ = buffer_.data();
    end_ = at_ + kept + n;
  }
  const ScratchFile* file_;
  Run rest_;  // the part not yet in the buffer
  std::span<char> buffer_;
  std::vector<char> larger_;
  const char *at_, *end_;
  size_t size_ = 0;  // of the record at at_
};

// A heap of sorted streams, the one with the smallest record on top. A Stream has next() and
// before(other), like RunReader. The order of equal records is unspecified.
template <typename Stream>
class MergeHeap {
 public:
  void start(std::vector<Stream>& streams) {  // borrowed: they must not move
    heap_.clear();
    for (Stream& stream : streams) {
      if (stream.next()) heap_.push_back(&stream);
    }
    for (size_t i = heap_.size() / 2; i-- > 0;) sift_down(i);
  }
  bool empty() const { return heap_.empty(); }
  const Stream& top() const { return *heap_.front(); }
  void advance() {
    if (!heap_.front()->next()) {
      heap_.front() = heap_.back();
      heap_.pop_back();
    }
    if (!heap_.empty()) sift_down(0);
  }
  void clear() { heap_.clear(); }

 private:
  void sift_down(size_t hole) {
    Stream* const moved = heap_[hole];
    for (size_t child = 2 * hole + 1; child < heap_.size(); child = 2 * hole + 1) {
      if (child + 1 < heap_.size() && heap_[child + 1]->before(*heap_[child])) ++child;
      if (!heap_[child]->before(*moved)) break;
      heap_[hole] = heap_[child];
      hole = child;
    }
    heap_[hole] = moved;
  }
  std::vector<Stream*> heap_;
};

// Writes sorted runs of fixed-size records and merges them. `Record` has before(a, b), the order,
// and absorb(other), which adds an equal record to this one and returns whether it did.
template <typename Record>
class RunMerger {
 public:
  explicit RunMerger(Disk& disk) : disk_(disk) {}

  bool empty() const { return runs_.empty(); }
  void begin_run() {
    if (!file_.has_value()) file_.emplace(disk_.open());
    runs_.push_back({file_->size(), file_->size()});
  }
  void append(std::span<const Record> records) {
    disk_.append(*file_, records.data(), records.size_bytes());
    runs_.back().end = file_->size();
  }

  // Starts to merge all runs; the merger uses `space` until the last record has been read. If there
  // are too many runs for buffers of kLeastBuffer records, groups of runs are merged into new runs
  // first.
  void begin_merge(std::span<Record> space) {
    const size_t fan_in = std::max<size_t>(3, space.size() / kLeastBuffer) - 1;
    while (runs_.size() > fan_in) {
      const ScratchFile old = std::move(*file_);
      const std::vector<Run> groups = std::exchange(runs_, {});
      file_.reset();
      for (size_t i = 0; i < groups.size(); i += fan_in) {
        open(old, {groups.data() + i, std::min(fan_in, groups.size() - i)}, space);
        begin_run();
        for (auto batch = next_batch(); !batch.empty(); batch = next_batch()) append(batch);
      }
    }
    open(*file_, runs_, space);
  }

  // The next merged records, valid until the next call; empty at the end.
  std::span<const Record> next_batch() {
    size_t n = 0;
    for (; !heap_.empty(); heap_.advance()) {
      const Record& record = heap_.top().record();
      if (n > 0 && output_[n - 1].absorb(record)) continue;
      if (n == output_.size()) break;
      output_[n++] = record;
    }
    return output_.first(n);
  }

 private:
  using Reader = RunReader<FixedRecords<Record>>;
  static constexpr size_t kLeastBuffer = 1024;  // records

  void open(const ScratchFile& file, std::span<const Run> runs, std::span<Record> space) {
    const size_t each = space.size() / (runs.size() + 1);
    output_ = space.first(each);
    readers_.clear();
    for (size_t i = 0; i < runs.size(); ++i) {
      const std::span<Record> buffer = space.subspan((i + 1) * each, each);
      readers_.emplace_back(file, runs[i],
                            std::span(reinterpret_cast<char*>(buffer.data()), buffer.size_bytes()));
    }
    heap_.start(readers_);
  }

  Disk& disk_;
  std::optional<ScratchFile> file_;
  std::vector<Run> runs_;
  std::vector<Reader> readers_;
  MergeHeap<Reader> heap_;
  std::span<Record> output_;
};

// Sorts `data` stably by record.key() < 2^bits, with `spare`, of the same size, as scratch. One
// pass by the top digit makes buckets that fit into the cache; each thread then sorts one bucket at
// a time. O(n * bits).
template <typename Record>
void radix_sort(std::span<Record> data, std::span<Record> spare, unsigned bits, size_t threads) {
  const size_t n = data.size();
  if (n < 2) return;
  constexpr size_t kBucket = 4096;  // records; 16 bytes each: 64 KB
  const unsigned top =
      std::min(bits, std::clamp(static_cast<unsigned>(std::bit_width(n / kBucket)), 1U, 11U));
  const unsigned low = bits - top;
  std::vector<size_t> begin((size_t{1} << top) + 1);
  for (const Record& record : data) ++begin[(record.key() >> low) + 1];
  for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  {
    std::vector<size_t> next(begin.begin(), begin.end() - 1);
    for (const Record& record : data) spare[next[record.key() >> low]++] = record;
  }
  const auto sort_bucket = [&](size_t b) {
    const size_t size = begin[b + 1] - begin[b];
    Record* from = spare.data() + begin[b];
    Record* to = data.data() + begin[b];
    if (size <= 64) {
      std::copy_n(from, size, to);
      std::stable_sort(to, to + size,
                       [](const Record& x, const Record& y) { return x.key() < y.key(); });
      return;
    }
    const unsigned passes = (low + 7) / 8;
    for (unsigned pass = 0, done = 0; pass < passes; ++pass) {
      const unsigned digit = (low - done + passes - pass - 1) / (passes - pass);
      const uint64_t mask = (uint64_t{1} << digit) - 1;
      size_t count[257] = {};
      for (size_t i = 0; i < size; ++i) ++count[((from[i].key() >> done) & mask) + 1];
      for (size_t i = 1; i <= mask; ++i) count[i] += count[i - 1];
      for (size_t i = 0; i < size; ++i) to[count[(from[i].key() >> done) & mask]++] = from[i];
      std::swap(from, to);
      done += digit;
    }
    if (from != data.data() + begin[b]) std::copy_n(from, size, data.data() + begin[b]);
  };
  parallel_for(begin.size() - 1, n < 4 * kBucket ? 1 : threads, sort_bucket);
}

// Takes records and returns them in the order of their keys. The sorter uses `data` from the first
// push() to the last next(), `spare` only during push() and finish().
template <typename Record>
class KeySorter {
 public:
  KeySorter(std::span<Record> data, std::span<Record> spare, unsigned bits, size_t threads,
            Disk& disk)
      : data_(data), spare_(spare), bits_(bits), threads_(threads), runs_(disk) {}

  void push(const Record& record) {
    if (size_ == data_.size()) spill();
    data_[size_++] = record;
  }
  void finish() {
    if (runs_.empty()) {
      sort();
      at_ = data_.data();
      end_ = at_ + size_;
      return;
    }
    if (size_ > 0) spill();
    runs_.begin_merge(data_);
  }
  // nullptr at the end.
  const Record* next() {
    if (at_ == end_ && !load()) return nullptr;
    return at_++;
  }

 private:
  void sort() {
    radix_sort(data_.first(size_), spare_.first(size_), bits_, threads_);
    poll_interrupt();
  }
  void spill() {
    sort();
    runs_.begin_run();
    runs_.append(data_.first(size_));
    size_ = 0;
  }
  bool load() {
    if (runs_.empty()) return false;
    const std::span<const Record> batch = runs_.next_batch();
    at_ = batch.data();
    end_ = at_ + batch.size();
    return !batch.empty();
  }

  std::span<Record> data_, spare_;
  unsigned bits_;
  size_t threads_;
  size_t size_ = 0;
  RunMerger<Record> runs_;
  const Record* at_ = nullptr;
  const Record* end_ = nullptr;
};

// Sorts records by their bytes, so the output depends on the records alone: not on the memory, the
// number of shards, or the shard that a record was added to. No record may be a proper prefix of
// another (end each with a terminator or begin it with its length); equal records are allowed.
class RecordSorter {
 public:
  // A part of the sorter with its own buffer, for one thread at a time.
  class Shard {
   public:
    Shard(uint64_t memory, std::string scratch_directory);
    void add(std::string_view record);

   private:
    friend class RecordSorter;
    struct Entry {
      uint64_t prefix;   // eight bytes of the record from the current depth, big-endian
      const char* data;  // its size (4 bytes), then its bytes
    };
    static void sort_entries(Entry* begin, Entry* end, size_t depth);
    void sort();
    void spill();
    char* allocate(size_t size);
    uint64_t memory_;
    std::string scratch_directory_;
    std::vector<std::unique_ptr<char[]>> blocks_;
    std::vector<std::unique_ptr<char[]>> free_blocks_;
    size_t block_left_ = 0;
    char* block_next_ = nullptr;
    uint64_t held_ = 0;  // bytes of blocks, large records included
    std::vector<Entry> entries_;
    std::unique_ptr<ScratchFile> scratch_;
    std::vector<Run> runs_;
    uint64_t records_ = 0;
  };

  // `memory`: bytes in total, divided evenly among the shards (at least one shard, at least 256 KB
  // each).
  RecordSorter(uint64_t memory, size_t shards, const std::string& scratch_directory);
  ~RecordSorter();
  size_t shards() const { return shards_.size(); }
  Shard& shard(size_t i) { return *shards_[i]; }

  // Adds `records` records that are sorted already, as FrontCoder writes them. They go to a scratch
  // file. For one thread at a time.
  void add_run(std::string_view coded, uint64_t records);

  void sort(size_t threads);            // after the last add, before the first next
  bool next(std::string_view& record);  // in order; valid until the next call
  void clear();                         // frees all memory and disk space; keeps the counts

  uint64_t records() const;
  uint64_t spilled() const;  // bytes

 private:
  class Stream;
  uint64_t memory_;
  std::string scratch_directory_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::unique_ptr<ScratchFile> received_;  // the runs of add_run()
  std::vector<Run> received_runs_;
  uint64_t received_records_ = 0;
  // Of the streams; small ones reuse memory that the shards freed.
  std::vector<std::vector<char>> buffers_;
  std::vector<Stream> streams_;
  MergeHeap<Stream> heap_;
  bool started_ = false;
  uint64_t cleared_records_ = 0, cleared_spilled_ = 0;
};

}  // namespace hopefear
