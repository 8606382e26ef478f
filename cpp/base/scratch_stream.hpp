#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/io.hpp"

namespace hopefear {

// A scratch file that is written sequentially, then read sequentially. Data that fits into the
// buffer is never written to disk.
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

}  // namespace hopefear
