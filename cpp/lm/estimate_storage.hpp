// Where the estimator keeps its records while it works, within a fixed number of bytes: sequences
// that continue on disk (Column), and the workspace of a KeySorter. Everything is sequential, so
// that a model larger than the memory costs disk, not failure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/external_sorter.hpp"
#include "base/interrupt.hpp"
#include "base/io.hpp"

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

}  // namespace hopefear::lm::estimation
