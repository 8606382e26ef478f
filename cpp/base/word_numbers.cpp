#include "base/word_numbers.hpp"

#include <cstring>

#include "base/error.hpp"
#include "base/hash.hpp"

namespace hopefear {

uint32_t WordNumbers::find(std::string_view word) const {
  return numbers_.find(hash64(word), [&](uint32_t id) { return this->word(id) == word; });
}

uint32_t WordNumbers::add(std::string_view word) {
  const uint64_t hash = hash64(word);
  const auto same = [&](uint32_t other) { return this->word(other) == word; };
  if (const uint32_t known = numbers_.find(hash, same); known != kNone) return known;
  const auto id = static_cast<uint32_t>(size());
  if (id == kMost) {
    throw InputError("more than 2,147,483,647 different words; is the text tokenised?");
  }
  const size_t block = block_of(id);
  if (words_[block] == nullptr) {
    words_[block] = std::make_unique_for_overwrite<Word[]>(begin_of(block + 1) - begin_of(block));
  }
  words_[block][id - begin_of(block)] = keep(word);
  return numbers_.insert(hash, [](uint32_t) { return false; }).first;
}

WordNumbers::Word WordNumbers::keep(std::string_view word) {
  if (word.size() > left_) {
    last_size_ = std::max(word.size(), std::clamp<size_t>(text_bytes_ / 8, 1024, 1 << 20));
    text_.push_back(std::make_unique_for_overwrite<char[]>(last_size_));
    free_ = text_.back().get();
    left_ = last_size_;
    text_bytes_ += last_size_;
  }
  if (!word.empty()) std::memcpy(free_, word.data(), word.size());
  const Word kept = {free_, word.size()};
  free_ += word.size();
  left_ -= word.size();
  return kept;
}

void WordNumbers::clear() {
  numbers_.clear();
  if (text_.empty()) return;
  text_.erase(text_.begin(), text_.end() - 1);
  free_ = text_.back().get();
  left_ = text_bytes_ = last_size_;
}

size_t WordNumbers::bytes() const { return numbers_.bytes() + text_bytes_ + size() * sizeof(Word); }

}  // namespace hopefear
