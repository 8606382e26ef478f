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
  const auto found = ids_.find(word);
  return found == ids_.end() ? -1 : found->second;
}

int32_t Vocabulary::intern(std::string_view word) {
  const int32_t known = find(word);
  if (known >= 0) return known;
  if (word.empty() || word.find_first_of(" \t\n\r\v\f") != std::string_view::npos) {
    throw InputError("'" + std::string(word) +
                     "' is no word: it is empty or has white space; split the text into words");
  }
  const std::unique_lock lock(mutex_);
  const auto found = ids_.find(word);
  if (found != ids_.end()) return found->second;
  const int64_t id = int64_t{first_} + static_cast<int64_t>(words_.size());
  if (id > std::numeric_limits<int32_t>::max()) throw std::length_error("vocabulary full");
  words_.emplace_back(word);
  ids_.emplace(words_.back(), static_cast<int32_t>(id));
  return static_cast<int32_t>(id);
}

std::string_view Vocabulary::word(int32_t id) const {
  if (id < first_ && id >= 0) return base_->word(id);
  const std::shared_lock lock(mutex_);
  const int64_t own = int64_t{id} - first_;
  if (own < 0 || own >= static_cast<int64_t>(words_.size())) {
    throw std::out_of_range("no word " + std::to_string(id));
  }
  return words_[static_cast<size_t>(own)];
}

int32_t Vocabulary::size() const {
  const std::shared_lock lock(mutex_);
  return first_ + static_cast<int32_t>(words_.size());
}

}  // namespace hopefear
