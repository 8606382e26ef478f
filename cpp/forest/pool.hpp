// Forests of many sentences in one memory-mapped file: a tuning pool on disk.
//
// Each forest is a block of its arrays, so reading a sentence touches its bytes only and copies
// nothing. Word numbers are those of the file's vocabulary. Each tuning iteration writes its own
// file.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/binary_file.hpp"
#include "forest/forest.hpp"

namespace hopefear {

inline constexpr BinaryKind kForestKind{"forest", 1, "decode or import again to make it anew"};

class PoolWriter {
 public:
  explicit PoolWriter(const std::string& path);
  // Forests may have different vocabularies.
  void add(const Forest& forest);
  // Stores the names of a forest's features, if known. No thread may intern names meanwhile.
  void add_names(const Forest& forest);
  void finish();
  size_t size() const { return index_.size() / 2; }

 private:
  int32_t word(const Vocabulary& from, int32_t id);
  BinaryWriter file_;
  uint64_t position_ = 0;
  std::vector<uint64_t> index_;  // offset and size of each block
  Vocabulary vocabulary_;
  std::shared_ptr<const Vocabulary> mapped_from_;  // the vocabulary that word_map_ maps from
  std::vector<int32_t> word_map_;
  FeatureNames names_;
  std::vector<FeatureId> named_;
};

class Pool {
 public:
  // Checks the container as that of every binary file, but not the forests: the checksum and the
  // structure of each are checked on its first get().
  static std::shared_ptr<const Pool> open(const std::string& path);

  size_t size() const { return index_.size() / 2; }
  size_t bytes() const { return file_.size(); }
  const std::string& path() const { return file_.path(); }
  const std::shared_ptr<Vocabulary>& vocabulary() const { return vocabulary_; }
  const std::shared_ptr<FeatureNames>& names() const { return names_; }
  // A forest of views into the file, which stays mapped as long as any of its forests lives.
  // InputError if the block is damaged. Thread-safe.
  static Forest get(const std::shared_ptr<const Pool>& pool, size_t index);

 private:
  explicit Pool(BinaryFile file) : file_(std::move(file)) {}
  BinaryFile file_;
  std::span<const char> blocks_;
  std::span<const uint64_t> index_;
  std::shared_ptr<Vocabulary> vocabulary_;
  std::shared_ptr<FeatureNames> names_;
  mutable std::vector<std::atomic<uint8_t>> checked_;
};

}  // namespace hopefear
