// Byte streams, lines, mapped files and scratch files. The engine never opens a user's text file:
// Python does (it handles .gz and "-") and passes a ByteSource or ByteSink. The engine opens only
// its own binary files and scratch files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hopefear {

struct MappedRange;  // base/mapped_guard.hpp

class ByteSource {
 public:
  explicit ByteSource(std::string source_name) : name_(std::move(source_name)) {}
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  // Up to `size` bytes; 0 only at the end. Throws FileError.
  virtual size_t read(char* buffer, size_t size) = 0;
  const std::string& name() const { return name_; }  // for messages

 private:
  std::string name_;
};

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::string_view bytes) = 0;  // all of them, or throws FileError
};

// Text in memory, and for tests.
class MemorySource : public ByteSource {
 public:
  MemorySource(std::string source_name, std::string_view text)
      : ByteSource(std::move(source_name)), text_(text) {}
  size_t read(char* buffer, size_t size) override;

 private:
  std::string_view text_;  // not owned
};

class MemorySink : public ByteSink {
 public:
  void write(std::string_view bytes) override { text.append(bytes); }
  std::string text;
};

// Collects small writes; call flush() at the end (the destructor does not: it could not report).
class BufferedSink {
 public:
  explicit BufferedSink(ByteSink& sink, size_t capacity = 1 << 20);
  void write(std::string_view bytes);
  void put(char c) {
    if (buffer_.size() == capacity_) flush();
    buffer_.push_back(c);
  }
  void flush();

 private:
  ByteSink& sink_;
  size_t capacity_;
  std::string buffer_;
};

// Lines of a source without their '\n' (a last line without one counts). The view is valid until
// the next call. Memory: the longest line plus 256 KB.
class LineReader {
 public:
  explicit LineReader(ByteSource& source);
  bool next(std::string_view& line);
  // Like next(), for text: drops a byte-order mark; InputError if the line is not UTF-8.
  bool next_text(std::string_view& line);
  uint64_t line_number() const { return line_number_; }  // of the line last returned, from 1
  std::string place() const;                             // "name:line"
  const std::string& name() const { return source_.name(); }

 private:
  ByteSource& source_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  bool at_end_ = false;
  uint64_t line_number_ = 0;
};

// A read-only memory mapping of a complete file. Movable, not copyable. If the file becomes shorter
// or its disk fails while it is in use, the process ends with a message and exit code 2
// (base/mapped_guard.hpp).
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  const char* data() const { return data_; }
  size_t size() const { return size_; }
  // Releases the memory of a part, which is read from the file again when it is next used.
  void forget(const char* begin, size_t size) const;

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
  MappedRange* range_ = nullptr;
};

// An unlinked file in a scratch directory: it vanishes with the object, also when the process is
// killed. Append, then read any part back. One thread at a time writes; reads may be concurrent.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& directory);  // empty: $TMPDIR or /tmp
  ~ScratchFile();
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&&) = delete;
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  void append(const void* data, size_t size);
  void read_at(uint64_t offset, void* data, size_t size) const;  // exactly `size` bytes
  uint64_t size() const { return size_; }

 private:
  int descriptor_ = -1;
  std::string directory_;
  uint64_t size_ = 0;
};

// Splits a line at runs of the given white space (bytes below 64) and calls f(std::string_view) for
// each word. A bit mask instead of find_first_of, whose memchr per byte took a quarter of the time
// to read a grammar.
template <typename F>
void for_each_word(std::string_view line, std::string_view blanks, F&& f) {
  uint64_t mask = 0;
  for (const char c : blanks) mask |= uint64_t{1} << (static_cast<unsigned char>(c) & 63);
  const auto blank = [mask](char c) {
    const unsigned char byte = static_cast<unsigned char>(c);
    return byte < 64 && (mask >> byte & 1) != 0;
  };
  const char* at = line.data();
  const char* const end = at + line.size();
  while (true) {
    while (at != end && blank(*at)) ++at;
    if (at == end) return;
    const char* const begin = at;
    while (at != end && !blank(*at)) ++at;
    f(std::string_view(begin, static_cast<size_t>(at - begin)));
  }
}

}  // namespace hopefear
