// Sorts any number of byte records in bounded memory: full buffers are sorted and spilled to a
// scratch file as runs, and all runs are merged at the end.
//
// Records are ordered by their bytes, so what comes out depends on the records alone: not on the
// memory, the number of shards, or which shard a record was added to. No record may be a proper
// beginning of another (end each with a terminator or let it say its length); equal ones are fine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/io.hpp"

namespace hopefear::rules {

class RecordSorter {
 public:
  // A part with a buffer of its own; each is used by one thread at a time.
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
    struct Run {
      uint64_t begin, end;  // in the scratch file
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

  // `memory` bytes in all, shared evenly by the shards (at least one, and 256 KB for each).
  RecordSorter(uint64_t memory, size_t shards, const std::string& scratch_directory);
  ~RecordSorter();
  size_t shards() const { return shards_.size(); }
  Shard& shard(size_t i) { return *shards_[i]; }

  void sort(size_t threads);            // after the last add, before the first next
  bool next(std::string_view& record);  // in order; valid until the next call
  void clear();  // gives all memory and disk space back; only the counts remain

  uint64_t records() const;
  uint64_t spilled() const;  // bytes

 private:
  class Stream;
  bool before(size_t a, size_t b) const;  // whether stream a's record comes before b's
  void sift_down(size_t hole);
  uint64_t memory_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<size_t> heap_;  // of streams, the smallest record on top
  bool started_ = false;
  uint64_t cleared_records_ = 0, cleared_spilled_ = 0;
};

// A scratch file that is written from front to end and then read from front to end. What fits into
// its buffer never gets to a disk.
class ScratchStream {
 public:
  explicit ScratchStream(const std::string& directory, size_t buffer = size_t{1} << 18);
  void write(std::string_view bytes);
  void rewind();  // from writing to reading
  void read(void* data, size_t size);
  uint64_t size() const { return written() + (reading_ && file_ ? 0 : buffer_.size()); }

 private:
  uint64_t written() const { return file_ ? file_->size() : 0; }
  void append(std::string_view bytes);
  std::string directory_;
  std::unique_ptr<ScratchFile> file_;  // made when the buffer is full for the first time
  size_t capacity_;
  std::string buffer_;
  size_t at_ = 0;
  uint64_t read_ = 0;
  bool reading_ = false;
};

}  // namespace hopefear::rules
