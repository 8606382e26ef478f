// The words of a text and their ids, in the order of first appearance after <unk>, <s> and </s>.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace hopefear::lm::estimation {

using WordId = uint32_t;
inline constexpr WordId kUnknown = 0, kBegin = 1, kEnd = 2, kFirstWord = 3;
inline constexpr WordId kMaxWords = (WordId{1} << 31) - 1;  // the top bit is used as a flag

class Vocabulary {
 public:
  Vocabulary();
  // The id of a word, a new one if it is new. The bytes are copied.
  WordId intern(std::string_view word);
  std::string_view word(WordId id) const { return words_[id / kBlock][id % kBlock]; }
  size_t size() const { return size_; }
  // Memory held.
  size_t bytes() const;

 private:
  struct Slot {
    uint32_t tag;  // upper half of the hash
    WordId id;     // kEmpty: free
  };
  static constexpr WordId kEmpty = ~WordId{0};
  static constexpr size_t kBlock = 256;  // words
  WordId insert(std::string_view word, uint32_t tag, size_t at);
  void grow();
  std::vector<Slot> slots_;  // open addressing, at most three quarters full
  size_t size_ = 0;
  // Blocks that never move: growing needs no second copy of anything but a few pointers.
  std::vector<std::unique_ptr<std::string_view[]>> words_;
  std::vector<std::unique_ptr<char[]>> text_;  // the words' bytes
  char* free_ = nullptr;                       // the rest of the last block
  size_t left_ = 0;
  size_t text_bytes_ = 0;
};

}  // namespace hopefear::lm::estimation
