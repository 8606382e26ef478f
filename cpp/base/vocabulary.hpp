// Words and their numbers. A vocabulary only grows; numbers and the bytes behind word() stay valid
// as long as it lives. Safe to use from several threads.
//
// Several forests may share a vocabulary. A decoder extends its model's vocabulary for each
// sentence: the model's words keep their numbers, and words unknown to the model get the numbers
// after them, without changing what other threads read.
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
  // Extends `base` (may be null), of which it contains the words present at this moment.
  explicit Vocabulary(std::shared_ptr<const Vocabulary> base = nullptr);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  // InputError for an empty word or one with white space: it could not be read back from a text.
  int32_t intern(std::string_view word);
  int32_t find(std::string_view word) const;  // -1 if unknown
  // std::out_of_range for a number never given. Lock-free, since feature templates call it for
  // every word of every feature name.
  std::string_view word(int32_t id) const;
  int32_t size() const { return first_ + count_.load(std::memory_order_acquire); }

 private:
  const std::shared_ptr<const Vocabulary> base_;
  const int32_t first_;              // the number of the first word that is not in base_
  mutable std::shared_mutex mutex_;  // guards words_, except for word() of numbers below size()
  WordNumbers words_;                // those not in base_
  std::atomic<int32_t> count_ = 0;
};

}  // namespace hopefear
