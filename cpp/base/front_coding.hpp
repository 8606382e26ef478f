// Sorted byte records in less space: of each record the number of bytes that it shares with the one
// before it, the number of its other bytes, and these. Both numbers have seven bits per byte, the
// lowest first. Sorted hierarchical rules take two thirds of their bytes, the rest are counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/interrupt.hpp"
#include "base/io.hpp"

namespace hopefear {

class FrontCoder {
 public:
  void add(std::string_view record, std::string& out) {
    const size_t most = std::min(record.size(), last_.size());
    const size_t shared = static_cast<size_t>(
        std::mismatch(record.begin(), record.begin() + static_cast<ptrdiff_t>(most), last_.begin())
            .first -
        record.begin());
    put(shared, out);
    put(record.size() - shared, out);
    out.append(record.substr(shared));
    last_.resize(shared);
    last_.append(record.substr(shared));
  }

 private:
  static void put(size_t value, std::string& out) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
  }
  std::string last_;
};

// Reads the records of a part of a scratch file, with a buffer of `size` bytes.
class FrontDecoder {
 public:
  FrontDecoder(const ScratchFile& file, uint64_t begin, uint64_t end, size_t size)
      : file_(&file), at_in_file_(begin), end_in_file_(end), buffer_(size) {}

  bool next() {
    if (at_ == filled_ && at_in_file_ == end_in_file_) return false;
    const size_t shared = get(), rest = get();
    if (shared > record_.size()) throw std::runtime_error("a sorted run is damaged");
    record_.resize(shared);
    for (size_t left = rest; left > 0;) {
      if (at_ == filled_) fill();
      const size_t n = std::min(left, filled_ - at_);
      record_.append(buffer_.data() + at_, n);
      at_ += n;
      left -= n;
    }
    return true;
  }
  std::string_view record() const { return record_; }  // until next()

 private:
  size_t get() {
    size_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at_ == filled_) fill();
      const auto byte = static_cast<unsigned char>(buffer_[at_++]);
      value |= static_cast<size_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
      if (shift > 28) throw std::runtime_error("a sorted run is damaged");
    }
  }
  void fill() {
    const size_t n = std::min<uint64_t>(buffer_.size(), end_in_file_ - at_in_file_);
    if (n == 0) throw std::runtime_error("a sorted run ends within a record");
    poll_interrupt();
    file_->read_at(at_in_file_, buffer_.data(), n);
    at_in_file_ += n;
    at_ = 0;
    filled_ = n;
  }

  const ScratchFile* file_;
  uint64_t at_in_file_, end_in_file_;
  std::vector<char> buffer_;
  size_t at_ = 0, filled_ = 0;
  std::string record_;
};

}  // namespace hopefear
