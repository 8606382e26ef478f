// Words and their numbers. A vocabulary only grows; numbers and the bytes behind word() stay valid
// as long as it lives. Safe to use from several threads.
//
// Several forests share one. A decoder gives each sentence a vocabulary on top of its model's: the
// model's words keep their numbers, and words that the model does not know are numbered behind them
// without touching what other threads read.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace hopefear {

class Vocabulary {
 public:
  // On top of `base`, of which it sees the words that are there now.
  explicit Vocabulary(std::shared_ptr<const Vocabulary> base = nullptr);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  // InputError for an empty word or one with white space: it could not be read back from a text.
  int32_t intern(std::string_view word);
  int32_t find(std::string_view word) const;  // -1 if unknown
  // std::out_of_range for a number never given. Takes no lock: feature templates ask for each word
  // of each feature that they name.
  std::string_view word(int32_t id) const;
  int32_t size() const { return first_ + count_.load(std::memory_order_acquire); }

 private:
  // Own words are in blocks of 64, 64, 128, 256, …: place p is in block width(p / 64), which begins
  // at the place 0 or 64 * 2^(block - 1). Blocks never move.
  static constexpr uint32_t kFirstBlock = 64;
  static size_t block_of(uint32_t place);
  static uint32_t begin_of(size_t block);

  const std::shared_ptr<const Vocabulary> base_;
  const int32_t first_;              // the number of the first word of its own
  mutable std::shared_mutex mutex_;  // of ids_, and of growing
  std::array<std::unique_ptr<std::string[]>, 27> blocks_;
  std::atomic<int32_t> count_ = 0;  // own words; set when the word is in its place
  std::unordered_map<std::string_view, int32_t> ids_;
};

}  // namespace hopefear
