// The container format of all binary files (weights, language models, rule tables, forests): named
// sections of flat arrays after a checksummed header, laid out for memory-mapping.
//
//   0     Header (64 bytes): magic, kind, version, number of sections, file size, checksum
//   64    24 section entries: name, offset, size, checksum
//   1216  the sections, each at a multiple of 64 bytes
//
// Little-endian, IEEE floats. The header's checksum covers the header and the entries, hence the
// sections' checksums too.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/io.hpp"

namespace hopefear {

struct BinaryKind {
  std::string_view name;    // up to 7 bytes, "lm", "weights"
  uint32_t version;         // readers refuse any other
  std::string_view remedy;  // "re-create it with 'hopefear lm compile'"
};

// Writes the container to a new file, which the caller renames into place (hopefear.base.files), or
// to memory, for data that lives as long as one sentence.
class BinaryWriter {
 public:
  BinaryWriter(const std::string& path, const BinaryKind& kind);
  explicit BinaryWriter(const BinaryKind& kind);  // to memory
  ~BinaryWriter();  // without finish() the file stays unreadable: its header is zero
  BinaryWriter(const BinaryWriter&) = delete;
  BinaryWriter& operator=(const BinaryWriter&) = delete;

  void begin(std::string_view name);  // up to 15 bytes
  void append(const void* data, size_t size);
  template <typename T>
  void add(std::string_view name, std::span<const T> values) {
    begin(name);
    append(values.data(), values.size_bytes());
  }
  void finish();  // writes the header, syncs to disk
  // For a writer to memory: returns the bytes, to be passed to BinaryFile::from_memory.
  std::vector<char> finish_in_memory();

 private:
  struct Written {
    std::string name;
    uint64_t offset, size;
    Checksum checksum;
  };
  void put(const void* data, size_t size);
  // Fills the header and the section entries.
  void fill_front(void* front) const;
  std::string path_;
  BinaryKind kind_;
  std::FILE* file_ = nullptr;  // null: write to memory_
  std::vector<char> memory_;
  uint64_t offset_ = 0;
  std::vector<Written> entries_;
};

class BinaryFile {
 public:
  // InputError for a file in another format, of another kind or version, truncated or damaged. All
  // sections are compared with their checksums, which takes 20 ms per 100 MB, except `unchecked`,
  // whose parts the caller checks when it first uses them.
  static BinaryFile open(const std::string& path, const BinaryKind& kind,
                         std::string_view unchecked = {});
  // Compares the sections of a file of any kind and version with their checksums and returns the
  // kind. InputError as above.
  static std::string verify(const std::string& path);
  // Takes the bytes of a BinaryWriter of the same process, which are not checked. `name` stands for
  // the path in messages.
  static BinaryFile from_memory(std::vector<char> bytes, std::string name, const BinaryKind& kind);

  template <typename T>
  std::span<const T> section(std::string_view name) const {
    const std::span<const char> bytes = raw_section(name);
    if (bytes.size() % sizeof(T) != 0) throw damaged(std::string(name) + " has an odd size");
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  // The section, which must have exactly `count` elements.
  template <typename T>
  std::span<const T> section(std::string_view name, size_t count) const {
    const std::span<const T> values = section<T>(name);
    if (values.size() != count) throw damaged(std::string(name) + " has a wrong size");
    return values;
  }
  bool has(std::string_view name) const;
  const std::string& path() const { return path_; }
  size_t size() const { return memory_.empty() ? file_.size() : memory_.size(); }
  // The error to throw if the content is inconsistent.
  InputError damaged(const std::string& why) const;

 private:
  // Maps the file and checks its header and sections.
  static BinaryFile map(const std::string& path, const BinaryKind* kind,
                        std::string_view unchecked);
  std::span<const char> raw_section(std::string_view name) const;
  std::string path_;
  const char* data() const { return memory_.empty() ? file_.data() : memory_.data(); }
  std::string remedy_;
  MappedFile file_;
  std::vector<char> memory_;  // instead of file_; moving it does not move its bytes
};

}  // namespace hopefear
