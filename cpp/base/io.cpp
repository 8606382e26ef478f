#include "base/io.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/feature_name.hpp"
#include "base/mapped_guard.hpp"

namespace hopefear {
namespace {

void check_utf8(std::string_view line, const LineReader& reader) {
  size_t at = 0;
  while (at < line.size()) {
    uint64_t eight;
    if (line.size() - at >= sizeof(eight)) {  // mostly ASCII: eight bytes at a time
      std::memcpy(&eight, line.data() + at, sizeof(eight));
      if ((eight & 0x8080808080808080) == 0) {
        at += sizeof(eight);
        continue;
      }
    }
    const size_t n = utf8_sequence(line.substr(at));
    if (n == 0) {
      char byte[8];
      std::snprintf(byte, sizeof(byte), "0x%02x", static_cast<unsigned char>(line[at]));
      throw InputError(reader.place() + ": byte " + byte + " at column " + std::to_string(at + 1) +
                       " is not UTF-8; convert the file, for instance with iconv");
    }
    at += n;
  }
}

}  // namespace

FileError::FileError(int error_number, std::string file_path)
    : std::runtime_error(file_path + ": " + std::strerror(error_number)),
      number(error_number),
      path(std::move(file_path)) {}

std::string shown(std::string_view text) {
  constexpr size_t kLongest = 40;
  std::string result = "'";
  for (size_t at = 0; at < std::min(text.size(), kLongest);) {
    const size_t size = printable_sequence(text.substr(at));
    if (size > 0) {
      result += text.substr(at, size);
    } else if (text[at] == '\t' || text[at] == '\n' || text[at] == '\r') {
      result += text[at] == '\t' ? "\\t" : text[at] == '\n' ? "\\n" : "\\r";
    } else {
      char byte[8];
      std::snprintf(byte, sizeof(byte), "\\x%02x", static_cast<unsigned char>(text[at]));
      result += byte;
    }
    at += std::max<size_t>(size, 1);
  }
  return result + (text.size() > kLongest ? "...'" : "'");
}

size_t MemorySource::read(char* buffer, size_t size) {
  const size_t n = std::min(size, text_.size());
  if (n > 0) std::memcpy(buffer, text_.data(), n);  // an empty text may be at null
  text_.remove_prefix(n);
  return n;
}

BufferedSink::BufferedSink(ByteSink& sink, size_t capacity) : sink_(sink), capacity_(capacity) {
  buffer_.reserve(capacity_);
}

void BufferedSink::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > capacity_) flush();
  if (bytes.size() >= capacity_) {
    sink_.write(bytes);
  } else {
    buffer_.append(bytes);
  }
}

void BufferedSink::flush() {
  if (buffer_.empty()) return;
  sink_.write(buffer_);
  buffer_.clear();
}

namespace {
constexpr size_t kLongestLine = size_t{1} << 28;
}

LineReader::LineReader(ByteSource& source) : source_(source), buffer_(size_t{1} << 18) {}

bool LineReader::next(std::string_view& line) {
  size_t scanned = begin_;
  while (true) {
    const char* newline =
        static_cast<const char*>(std::memchr(buffer_.data() + scanned, '\n', end_ - scanned));
    if (newline != nullptr) {
      const size_t at = static_cast<size_t>(newline - buffer_.data());
      line = std::string_view(buffer_.data() + begin_, at - begin_);
      begin_ = at + 1;
      ++line_number_;
      return true;
    }
    if (at_end_) {
      if (begin_ == end_) return false;
      line = std::string_view(buffer_.data() + begin_, end_ - begin_);
      begin_ = end_;
      ++line_number_;
      return true;
    }
    scanned = end_;
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      scanned -= begin_;
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ >= kLongestLine) {
      throw InputError(name() + ":" + std::to_string(line_number_ + 1) + ": a line of " +
                       std::to_string(kLongestLine) +
                       " bytes or more, expected lines of text; check the name");
    }
    if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
    const size_t n = source_.read(buffer_.data() + end_, buffer_.size() - end_);
    if (n == 0) at_end_ = true;
    end_ += n;
  }
}

bool LineReader::next_text(std::string_view& line) {
  if (!next(line)) return false;
  if (line_number_ == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  check_utf8(line, *this);
  return true;
}

std::string LineReader::place() const { return name() + ":" + std::to_string(line_number_); }

MappedFile::MappedFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw FileError(errno, path);
  struct stat info;
  int problem = ::fstat(fd, &info) != 0 ? errno : 0;
  if (problem == 0 && S_ISDIR(info.st_mode)) problem = EISDIR;
  if (problem == 0 && info.st_size > 0) {
    size_ = static_cast<size_t>(info.st_size);
    void* p = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
      problem = errno;
    } else {
      data_ = static_cast<const char*>(p);
      range_ = guard_range(data_, size_, path);
    }
  }
  ::close(fd);
  if (problem != 0) throw FileError(problem, path);
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  release_range(range_);
  ::munmap(const_cast<char*>(data_), size_);
}

void MappedFile::forget(const char* begin, size_t size) const {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t first = static_cast<size_t>(begin - data_) / page * page;
  const size_t last = static_cast<size_t>(begin - data_) + size;
  ::madvise(const_cast<char*>(data_) + first, last - first, MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      range_(std::exchange(other.range_, nullptr)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(range_, other.range_);
  return *this;
}

ScratchFile::ScratchFile(const std::string& directory) : directory_(directory) {
  if (directory_.empty()) {
    const char* tmp = std::getenv("TMPDIR");
    directory_ = tmp != nullptr && *tmp != '\0' ? tmp : "/tmp";
  }
  std::string path = directory_ + "/hopefear-XXXXXX";
  descriptor_ = ::mkstemp(path.data());
  if (descriptor_ < 0) throw FileError(errno, directory_);
  ::unlink(path.c_str());
}

ScratchFile::~ScratchFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      directory_(std::move(other.directory_)),
      size_(other.size_) {}

void ScratchFile::append(const void* data, size_t size) {
  const char* p = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::pwrite(descriptor_, p, size, static_cast<off_t>(size_));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw FileError(errno, directory_ + " (scratch file)");
    p += n;
    size -= static_cast<size_t>(n);
    size_ += static_cast<uint64_t>(n);
  }
}

void ScratchFile::read_at(uint64_t offset, void* data, size_t size) const {
  char* p = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = ::pread(descriptor_, p, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw FileError(n < 0 ? errno : EIO, directory_ + " (scratch file)");
    p += n;
    size -= static_cast<size_t>(n);
    offset += static_cast<uint64_t>(n);
  }
}

}  // namespace hopefear
