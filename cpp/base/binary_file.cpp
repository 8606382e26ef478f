#include "base/binary_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace hopefear {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr char kMagic[8] = {'H', 'O', 'P', 'E', 'F', 'E', 'A', 'R'};
constexpr size_t kMaxSections = 24;
constexpr size_t kAlign = 64;
// Checking a larger file does not leave it in memory.
constexpr size_t kResident = size_t{32} << 20;

struct Header {
  char magic[8];
  char kind[8];
  uint32_t version;
  uint32_t sections;
  uint64_t file_size;
  uint64_t checksum;  // of the header with this field zero, then the entries
  uint64_t reserved[3];
};
static_assert(sizeof(Header) == 64);

struct Entry {
  char name[16];
  uint64_t offset, size;
  uint64_t checksum;
  uint64_t reserved;
};
static_assert(sizeof(Entry) == 48);

struct Front {
  Header header;
  Entry entries[kMaxSections];
};
constexpr size_t kFrontSize = sizeof(Front);
static_assert(kFrontSize % kAlign == 0);

uint64_t front_checksum(Front front) {
  front.header.checksum = 0;
  Checksum sum;
  sum.update(&front, sizeof(front));
  return sum.digest();
}

uint64_t checksum_of(const char* data, size_t size, const MappedFile& file) {
  constexpr size_t kPiece = size_t{8} << 20;
  Checksum sum;
  for (size_t at = 0; at < size; at += kPiece) {
    const size_t piece = std::min(kPiece, size - at);
    sum.update(data + at, piece);
    if (file.size() > kResident) file.forget(data + at, piece);
  }
  return sum.digest();
}

std::string printable(const char* bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    const unsigned char c = static_cast<unsigned char>(bytes[i]);
    text += c >= 32 && c < 127 ? static_cast<char>(c) : '?';
  }
  return text;
}

std::string_view trimmed(const char* bytes, size_t size) {
  return {bytes, std::find(bytes, bytes + size, '\0')};
}

}  // namespace

BinaryWriter::BinaryWriter(const std::string& path, const BinaryKind& kind)
    : path_(path), kind_(kind), file_(std::fopen(path.c_str(), "w+be")) {
  if (file_ == nullptr) throw FileError(errno, path_);
  const Front zero = {};
  put(&zero, sizeof(zero));
}

BinaryWriter::BinaryWriter(const BinaryKind& kind) : path_("memory"), kind_(kind) {
  memory_.resize(kFrontSize);
  offset_ = kFrontSize;
}

BinaryWriter::~BinaryWriter() {
  if (file_ != nullptr) std::fclose(file_);
}

void BinaryWriter::put(const void* data, size_t size) {
  if (file_ == nullptr) {
    const char* bytes = static_cast<const char*>(data);
    memory_.insert(memory_.end(), bytes, bytes + size);
  } else if (size > 0 && std::fwrite(data, 1, size, file_) != size)
    throw FileError(errno, path_);
  offset_ += size;
}

void BinaryWriter::begin(std::string_view name) {
  if (entries_.size() == kMaxSections || name.size() > 15) throw std::logic_error("binary section");
  static const char zeros[kAlign] = {};
  put(zeros, (kAlign - offset_ % kAlign) % kAlign);
  entries_.push_back({std::string(name), offset_, 0, {}});
}

void BinaryWriter::append(const void* data, size_t size) {
  put(data, size);
  entries_.back().size += size;
  if (file_ != nullptr) entries_.back().checksum.update(data, size);
}

void BinaryWriter::fill_front(void* to) const {
  Front front = {};
  std::memcpy(front.header.magic, kMagic, sizeof(kMagic));
  std::memcpy(front.header.kind, kind_.name.data(), std::min<size_t>(kind_.name.size(), 7));
  front.header.version = kind_.version;
  front.header.sections = static_cast<uint32_t>(entries_.size());
  front.header.file_size = offset_;
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = front.entries[i];
    std::memcpy(entry.name, entries_[i].name.data(), entries_[i].name.size());
    entry.offset = entries_[i].offset;
    entry.size = entries_[i].size;
    if (file_ == nullptr) continue;  // data in memory is never checked
    entry.checksum = entries_[i].checksum.digest();
  }
  front.header.checksum = front_checksum(front);
  std::memcpy(to, &front, sizeof(front));
}

void BinaryWriter::finish() {
  if (std::fflush(file_) != 0) throw FileError(errno, path_);
  Front front;
  fill_front(&front);
  if (std::fseek(file_, 0, SEEK_SET) != 0) throw FileError(errno, path_);
  put(&front, sizeof(front));
  if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0) throw FileError(errno, path_);
  if (std::fclose(std::exchange(file_, nullptr)) != 0) throw FileError(errno, path_);
}

std::vector<char> BinaryWriter::finish_in_memory() {
  fill_front(memory_.data());
  return std::move(memory_);
}

BinaryFile BinaryFile::open(const std::string& path, const BinaryKind& kind,
                            std::string_view unchecked) {
  return map(path, &kind, unchecked);
}

std::string BinaryFile::verify(const std::string& path) {
  const BinaryFile file = map(path, nullptr, {});
  const std::string_view kind = trimmed(file.data() + sizeof(kMagic), sizeof(Header::kind));
  return printable(kind.data(), kind.size());
}

BinaryFile BinaryFile::map(const std::string& path, const BinaryKind* kind,
                           std::string_view unchecked) {
  BinaryFile result;
  result.path_ = path;
  result.remedy_ = kind != nullptr ? kind->remedy : "restore it from a copy or make it again";
  result.file_ = MappedFile(path);
  const char* data = result.file_.data();
  const size_t size = result.file_.size();
  const auto refuse = [&](const std::string& why) {
    return InputError(path + ": " + why + "; " + result.remedy_);
  };
  const std::string wanted =
      "a Hopefear " + (kind != nullptr ? std::string(kind->name) + " file" : "binary file");
  if (size < sizeof(kMagic) || std::memcmp(data, kMagic, sizeof(kMagic)) != 0) {
    const size_t shown = std::min<size_t>(size, 8);
    const bool zero = size >= 8 && std::all_of(data, data + 8, [](char c) { return c == 0; });
    if (zero) throw refuse("unfinished file, expected " + wanted);
    throw refuse("starts with '" + printable(data, shown) + "', expected " + wanted);
  }
  if (size < kFrontSize) {
    throw refuse("truncated: " + std::to_string(size) + " bytes, not even a header");
  }
  Front front;
  std::memcpy(&front, data, sizeof(front));
  const Header& header = front.header;
  const std::string_view found_kind = trimmed(header.kind, sizeof(header.kind));
  if (kind != nullptr && found_kind != kind->name) {
    throw refuse("is a Hopefear '" + printable(found_kind.data(), found_kind.size()) +
                 "' file, expected " + wanted);
  }
  if (kind != nullptr && header.version != kind->version) {
    throw refuse("has format version " + std::to_string(header.version) + ", expected " +
                 std::to_string(kind->version));
  }
  if (front_checksum(front) != header.checksum) throw refuse("damaged: header checksum differs");
  if (header.file_size != size) {
    throw refuse((size < header.file_size ? "truncated: " : "too long: ") + std::to_string(size) +
                 " bytes, expected " + std::to_string(header.file_size));
  }
  if (header.sections > kMaxSections) throw refuse("damaged: number of sections");
  for (size_t i = 0; i < header.sections; ++i) {
    const Entry& entry = front.entries[i];
    // The checksum detects accidents only; a malicious file may have a valid one.
    if (entry.offset > size || entry.size > size - entry.offset || entry.offset % kAlign != 0) {
      throw refuse("damaged: place of a section");
    }
    const std::string_view name = trimmed(entry.name, sizeof(entry.name));
    if (!unchecked.empty() && name == unchecked) continue;
    if (checksum_of(data + entry.offset, entry.size, result.file_) != entry.checksum) {
      throw refuse("damaged: checksum of section '" + printable(name.data(), name.size()) +
                   "' differs");
    }
  }
  return result;
}

BinaryFile BinaryFile::from_memory(std::vector<char> bytes, std::string name,
                                   const BinaryKind& kind) {
  if (bytes.size() < kFrontSize)
    throw std::logic_error("from_memory: not the bytes of a BinaryWriter");
  BinaryFile result;
  result.path_ = std::move(name);
  result.remedy_ = kind.remedy;
  result.memory_ = std::move(bytes);
  return result;
}

std::span<const char> BinaryFile::raw_section(std::string_view name) const {
  const Front& front = *reinterpret_cast<const Front*>(data());
  for (size_t i = 0; i < front.header.sections; ++i) {
    const Entry& entry = front.entries[i];
    if (trimmed(entry.name, sizeof(entry.name)) == name) {
      return {data() + entry.offset, entry.size};
    }
  }
  throw damaged("section '" + std::string(name) + "' is missing");
}

bool BinaryFile::has(std::string_view name) const {
  const Front& front = *reinterpret_cast<const Front*>(data());
  return std::any_of(front.entries, front.entries + front.header.sections, [&](const Entry& entry) {
    return trimmed(entry.name, sizeof(entry.name)) == name;
  });
}

InputError BinaryFile::damaged(const std::string& why) const {
  return InputError(path_ + ": damaged: " + why + "; " + remedy_);
}

}  // namespace hopefear
