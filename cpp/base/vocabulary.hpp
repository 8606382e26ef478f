// Words and their numbers. A vocabulary only grows; numbers and the bytes behind word() stay valid
// as long as it lives. Safe to use from several threads.
//
// Several forests share one. A decoder gives each sentence a vocabulary on top of its model's: the
// model's words keep their numbers, and words that the model does not know are numbered behind them
// without touching what other threads read.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string_view>

#include "base/word_numbers.hpp"

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
  const std::shared_ptr<const Vocabulary> base_;
  const int32_t first_;              // the number of the first word of its own
  mutable std::shared_mutex mutex_;  // of words_, but for word() of what count_ says is there
  WordNumbers words_;                // of its own
  std::atomic<int32_t> count_ = 0;
};

}  // namespace hopefear
