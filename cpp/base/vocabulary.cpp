#include "base/vocabulary.hpp"

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
  const uint32_t place = words_.find(word);
  return place == WordNumbers::kNone ? -1 : first_ + static_cast<int32_t>(place);
}

int32_t Vocabulary::intern(std::string_view word) {
  const int32_t known = find(word);
  if (known >= 0) return known;
  if (word.empty() || word.find_first_of(" \t\n\r\v\f") != std::string_view::npos) {
    throw InputError(shown(word) +
                     " is no word: it is empty or has white space; split the text into words");
  }
  const std::unique_lock lock(mutex_);
  if (size() == std::numeric_limits<int32_t>::max()) throw std::invalid_argument("vocabulary full");
  const auto place = static_cast<int32_t>(words_.add(word));
  // A thread that reads the new size also sees the word and its place.
  count_.store(static_cast<int32_t>(words_.size()), std::memory_order_release);
  return first_ + place;
}

std::string_view Vocabulary::word(int32_t id) const {
  if (id < first_ && id >= 0) return base_->word(id);
  const int64_t own = int64_t{id} - first_;
  if (own < 0 || own >= count_.load(std::memory_order_acquire)) {
    throw std::out_of_range("no word with number " + std::to_string(id));
  }
  return words_.word(static_cast<uint32_t>(own));
}

}  // namespace hopefear
