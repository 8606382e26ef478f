#include "base/scratch_stream.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace hopefear {

ScratchStream::ScratchStream(const std::string& directory, size_t buffer)
    : directory_(directory), capacity_(buffer) {}

void ScratchStream::append(std::string_view bytes) {
  if (file_ == nullptr) file_ = std::make_unique<ScratchFile>(directory_);
  file_->append(bytes.data(), bytes.size());
}

void ScratchStream::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > capacity_) {
    append(buffer_);
    buffer_.clear();
  }
  if (bytes.size() > capacity_) {
    append(bytes);
  } else {
    buffer_.append(bytes);
  }
}

void ScratchStream::rewind() {
  if (file_ != nullptr) {
    if (!reading_) append(buffer_);
    buffer_.clear();
  }
  reading_ = true;
  at_ = 0;
  read_ = 0;
}

void ScratchStream::read(void* data, size_t size) {
  char* out = static_cast<char*>(data);
  while (size > 0) {
    if (at_ == buffer_.size()) {
      const size_t n = std::min<uint64_t>(capacity_, written() - read_);
      if (n == 0) throw std::logic_error("read past the end of a scratch stream");
      buffer_.resize(n);
      file_->read_at(read_, buffer_.data(), n);
      read_ += n;
      at_ = 0;
    }
    const size_t n = std::min(size, buffer_.size() - at_);
    std::memcpy(out, buffer_.data() + at_, n);
    at_ += n;
    out += n;
    size -= n;
  }
}

}  // namespace hopefear
