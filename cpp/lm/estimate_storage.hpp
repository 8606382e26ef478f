// Where the estimator keeps its records while it works, within a fixed number of bytes: sequences
// that continue on disk (Column), and sorting with runs on disk (Sorter). Everything is sequential,
// so that a model larger than the memory costs disk, not failure.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/interrupt.hpp"
#include "base/io.hpp"
#include "base/threads.hpp"

namespace hopefear::lm::estimation {

// A region of address space. Only the pages that were touched are memory, so it may be made as
// large as it is allowed to become. Throws std::bad_alloc.
class Pages {
 public:
  explicit Pages(size_t size);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  char* data() const { return data_; }
  size_t size() const { return size_; }
  // Its i-th of `parts` equal parts as an array of T.
  template <typename T>
  std::span<T> part(size_t i, size_t parts) const {
    const size_t bytes = size_ / parts / 64 * 64;
    return {reinterpret_cast<T*>(data_ + i * bytes), bytes / sizeof(T)};
  }

 private:
  char* data_;
  size_t size_;
};

// Scratch files of one estimation: where they are and how much went into them.
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

// The chunks of all columns, all of one size; those given back are used again.
class ChunkPool {
 public:
  ChunkPool(size_t bytes, size_t chunk_bytes, Disk& disk)
      : pages_(std::max(bytes, chunk_bytes)), chunk_bytes_(chunk_bytes), disk_(disk) {}
  char* take();  // nullptr if there is none left
  void give(char* chunk) { free_.push_back(chunk); }
  size_t chunk_bytes() const { return chunk_bytes_; }
  Disk& disk() const { return disk_; }

 private:
  Pages pages_;
  size_t chunk_bytes_;
  size_t used_ = 0;  // bytes at the beginning of pages_ that were handed out at least once
  std::vector<char*> free_;
  Disk& disk_;
};

// A sequence that is written once and then read in order, any number of times. It stays in memory
// while the pool has chunks; what comes after that goes to disk.
template <typename T>
class Column {
 public:
  explicit Column(ChunkPool& pool) : pool_(&pool), per_chunk_(pool.chunk_bytes() / sizeof(T)) {}
  ~Column() { clear(); }
  Column(Column&& other) noexcept
      : pool_(other.pool_),
        per_chunk_(other.per_chunk_),
        chunks_(std::exchange(other.chunks_, {})),
        buffer_(std::move(other.buffer_)),
        file_(std::move(other.file_)),
        at_(std::exchange(other.at_, nullptr)),
        end_(std::exchange(other.end_, nullptr)),
        full_(std::exchange(other.full_, 0)) {}
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  void append(const T& value) {
    if (at_ == end_) grow();
    *at_++ = value;
  }
  // The number of values.
  size_t size() const { return full_ - static_cast<size_t>(end_ - at_); }
  // Call before the first Reader.
  void finish() {
    if (buffer_ == nullptr) return;
    const size_t rest = per_chunk_ - static_cast<size_t>(end_ - at_);
    pool_->disk().append(*file_, buffer_.get(), rest * sizeof(T));
    full_ = size();
    at_ = end_ = nullptr;
    buffer_.reset();
  }
  void clear() {
    for (T* chunk : chunks_) pool_->give(reinterpret_cast<char*>(chunk));
    chunks_.clear();
    buffer_.reset();
    file_.reset();
    at_ = end_ = nullptr;
    full_ = 0;
  }

  class Reader {
   public:
    explicit Reader(const Column& column) : column_(column), left_(column.size()) {}
    bool done() const { return at_ == end_ && left_ == 0; }
    const T& next() {  // not when done()
      if (at_ == end_) load();
      return *at_++;
    }

   private:
    void load() {
      const size_t n = std::min(left_, column_.per_chunk_);
      if (chunk_ < column_.chunks_.size()) {
        at_ = column_.chunks_[chunk_];
      } else {
        if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<T[]>(column_.per_chunk_);
        const size_t before = (chunk_ - column_.chunks_.size()) * column_.per_chunk_;
        column_.file_->read_at(before * sizeof(T), buffer_.get(), n * sizeof(T));
        poll_interrupt();
        at_ = buffer_.get();
      }
      end_ = at_ + n;
      left_ -= n;
      ++chunk_;
    }
    const Column& column_;
    std::unique_ptr<T[]> buffer_;
    const T* at_ = nullptr;
    const T* end_ = nullptr;
    size_t chunk_ = 0;
    size_t left_;  // values not loaded yet
  };

 private:
  void grow() {
    poll_interrupt();
    T* place = buffer_.get();
    if (place != nullptr) {
      pool_->disk().append(*file_, place, per_chunk_ * sizeof(T));
    } else if (char* chunk = pool_->take(); chunk != nullptr) {
      place = reinterpret_cast<T*>(chunk);
      chunks_.push_back(place);
    } else {
      file_.emplace(pool_->disk().open());
      buffer_ = std::make_unique_for_overwrite<T[]>(per_chunk_);
      place = buffer_.get();
    }
    at_ = place;
    end_ = place + per_chunk_;
    full_ += per_chunk_;
  }

  ChunkPool* pool_;
  size_t per_chunk_;
  std::vector<T*> chunks_;           // the first values; owned by the pool
  std::unique_ptr<T[]> buffer_;      // what is on its way to the file
  std::optional<ScratchFile> file_;  // the values after those in chunks_
  T* at_ = nullptr;                  // where the next value goes
  T* end_ = nullptr;
  size_t full_ = 0;  // values if the current chunk were full
};

// Sorted runs in scratch files and their merging. `Record` has before(a, b), the order, and
// absorb(other): true if `other` is equal to this one and was added to it.
template <typename Record>
class RunMerger {
 public:
  explicit RunMerger(Disk& disk) : disk_(disk) {}

  bool empty() const { return runs_.empty(); }
  void begin_run() {
    if (!file_.has_value()) file_.emplace(disk_.open());
    runs_.push_back({file_->size(), 0});
  }
  void append(std::span<const Record> records) {
    disk_.append(*file_, records.data(), records.size_bytes());
    runs_.back().count += records.size();
  }

  // Starts to merge all runs; `space` belongs to the merger until the last record was read. If the
  // runs are so many that their buffers would be tiny, groups of them are merged to new runs first.
  void begin_merge(std::span<Record> space) {
    const size_t fan_in = std::max<size_t>(3, space.size() / kLeastBuffer) - 1;
    while (runs_.size() > fan_in) {
      const ScratchFile old = std::move(*file_);
      std::vector<Run> groups = std::exchange(runs_, {});
      file_.reset();
      for (size_t i = 0; i < groups.size(); i += fan_in) {
        const size_t n = std::min(fan_in, groups.size() - i);
        open_cursors(old, {groups.data() + i, n}, space);
        begin_run();
        for (auto batch = next_batch(); !batch.empty(); batch = next_batch()) append(batch);
      }
    }
    open_cursors(*file_, runs_, space);
  }

  // The next merged records, valid until the next call; empty at the end.
  std::span<const Record> next_batch() {
    size_t n = 0;
    while (!heap_.empty()) {
      Cursor& top = *heap_.front();
      if (n == 0 || !output_[n - 1].absorb(*top.at)) {
        if (n == output_.size()) break;
        output_[n++] = *top.at;
      }
      if (++top.at == top.end && !load(top)) {
        heap_.front() = heap_.back();
        heap_.pop_back();
      }
      sift_down();
    }
    return output_.first(n);
  }

 private:
  static constexpr size_t kLeastBuffer = 1024;  // records
  struct Run {
    uint64_t offset, count;
  };
  struct Cursor {
    Run run;  // what is not loaded yet
    std::span<Record> buffer;
    const Record *at, *end;
  };

  void open_cursors(const ScratchFile& file, std::span<const Run> runs, std::span<Record> space) {
    source_ = &file;
    const size_t each = space.size() / (runs.size() + 1);
    output_ = space.first(each);
    cursors_.clear();
    heap_.clear();
    for (size_t i = 0; i < runs.size(); ++i) {
      cursors_.push_back({runs[i], space.subspan((i + 1) * each, each), nullptr, nullptr});
    }
    for (Cursor& cursor : cursors_) {
      if (load(cursor)) heap_.push_back(&cursor);
    }
    // Equal records come in the order of their runs only by chance; absorb() must not care.
    std::sort(heap_.begin(), heap_.end(),
              [](const Cursor* a, const Cursor* b) { return Record::before(*a->at, *b->at); });
  }
  bool load(Cursor& cursor) {
    const size_t n = std::min<size_t>(cursor.run.count, cursor.buffer.size());
    if (n == 0) return false;
    source_->read_at(cursor.run.offset, cursor.buffer.data(), n * sizeof(Record));
    poll_interrupt();
    cursor.run.offset += n * sizeof(Record);
    cursor.run.count -= n;
    cursor.at = cursor.buffer.data();
    cursor.end = cursor.at + n;
    return true;
  }
  void sift_down() {  // restores the heap after its front changed
    size_t i = 0;
    for (size_t child = 1; child < heap_.size(); child = 2 * i + 1) {
      if (child + 1 < heap_.size() && Record::before(*heap_[child + 1]->at, *heap_[child]->at)) {
        ++child;
      }
      if (!Record::before(*heap_[child]->at, *heap_[i]->at)) return;
      std::swap(heap_[i], heap_[child]);
      i = child;
    }
  }

  Disk& disk_;
  std::optional<ScratchFile> file_;
  std::vector<Run> runs_;
  const ScratchFile* source_ = nullptr;
  std::vector<Cursor> cursors_;
  std::vector<Cursor*> heap_;  // those with records left, the smallest first
  std::span<Record> output_;
};

// Sorts `data` by key(record) < 2^bits, with `spare` of the same size as the other place; the
// result is in `data`, equal keys keep their order. One pass by the top digit makes buckets that
// fit the cache; the threads take bucket after bucket. Linear in n * bits.
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

// Records in, records out in the order of their keys. Between its first push and its last next,
// `data` belongs to the sorter; `spare` only during push and finish.
template <typename Record>
class Sorter {
 public:
  Sorter(std::span<Record> data, std::span<Record> spare, unsigned bits, size_t threads, Disk& disk)
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

}  // namespace hopefear::lm::estimation
