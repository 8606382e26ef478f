// Words and their numbers. A vocabulary only grows; numbers and the bytes behind word() stay valid
// as long as it lives. Safe to use from several threads.
//
// Several forests share one. A decoder gives each sentence a vocabulary on top of its model's: the
// model's words keep their numbers, and words that the model does not know are numbered behind them
// without touching what other threads read.
#pragma once

#include <cstdint>
#include <deque>
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
  std::string_view word(int32_t id) const;    // std::out_of_range for a number never given
  int32_t size() const;

 private:
  const std::shared_ptr<const Vocabulary> base_;
  const int32_t first_;  // the number of the first word of its own
  mutable std::shared_mutex mutex_;
  std::deque<std::string> words_;  // never moves its strings
  std::unordered_map<std::string_view, int32_t> ids_;
};

}  // namespace hopefear
