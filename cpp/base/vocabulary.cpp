#include "base/vocabulary.hpp"

#include <bit>
#include <limits>
#include <mutex>
#include <stdexcept>

#include "base/error.hpp"

namespace hopefear {

Vocabulary::Vocabulary(std::shared_ptr<const Vocabulary> base)
    : base_(std::move(base)), first_(base_ == nullptr ? 0 : base_->size()) {}

int32_t Vocabulary::find(std::string_view word) const {
  if (base_ != nullptr) {
    const int32_t id = base_->find(word);
    if (id >= 0 && id < first_) return id;
  }
  const std::shared_lock lock(mutex_);
  const auto found = ids_.find(word);
  return found == ids_.end() ? -1 : found->second;
}

int32_t Vocabulary::intern(std::string_view word) {
  const int32_t known = find(word);
  if (known >= 0) return known;
  if (word.empty() || word.find_first_of(" \t\n\r\v\f") != std::string_view::npos) {
    throw InputError(shown(word) +
                     " is no word: it is empty or has white space; split the text into words");
  }
  const std::unique_lock lock(mutex_);
  const auto found = ids_.find(word);
  if (found != ids_.end()) return found->second;
  const auto place = static_cast<uint32_t>(count_.load(std::memory_order_relaxed));
  const int64_t id = int64_t{first_} + place;
  if (id >= std::numeric_limits<int32_t>::max()) throw std::length_error("vocabulary full");
  const size_t block = block_of(place);
  if (blocks_[block] == nullptr) {
    blocks_[block] = std::make_unique<std::string[]>(begin_of(block + 1) - begin_of(block));
  }
  std::string& kept = blocks_[block][place - begin_of(block)];
  kept = word;
  ids_.emplace(kept, static_cast<int32_t>(id));
  // Whoever sees the new size sees the word and its block, too.
  count_.store(static_cast<int32_t>(place) + 1, std::memory_order_release);
  return static_cast<int32_t>(id);
}

std::string_view Vocabulary::word(int32_t id) const {
  if (id < first_ && id >= 0) return base_->word(id);
  const int64_t own = int64_t{id} - first_;
  if (own < 0 || own >= count_.load(std::memory_order_acquire)) {
    throw std::out_of_range("no word " + std::to_string(id));
  }
  const auto place = static_cast<uint32_t>(own);
  const size_t block = block_of(place);
  return blocks_[block][place - begin_of(block)];
}

size_t Vocabulary::block_of(uint32_t place) {
  return static_cast<size_t>(std::bit_width(place / kFirstBlock));
}

uint32_t Vocabulary::begin_of(size_t block) { return block == 0 ? 0 : kFirstBlock << (block - 1); }

}  // namespace hopefear
