#include "lm/estimate_vocabulary.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/hash.hpp"

namespace hopefear::lm::estimation {

Vocabulary::Vocabulary() : slots_(256, Slot{0, kEmpty}) {
  intern("<unk>");
  intern("<s>");
  intern("</s>");
}

WordId Vocabulary::intern(std::string_view word) {
  const uint64_t hash = hash64(word);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.id == kEmpty) return insert(word, tag, at);
    if (slot.tag == tag && this->word(slot.id) == word) return slot.id;
  }
}

WordId Vocabulary::insert(std::string_view word, uint32_t tag, size_t at) {
  if (size_ == kMaxWords) {
    throw InputError("more than 2,147,483,647 different words; is the text tokenised?");
  }
  if (word.size() > left_) {
    left_ = std::max<size_t>(word.size(), std::clamp<size_t>(text_bytes_ / 8, 1024, 1 << 20));
    text_.push_back(std::make_unique_for_overwrite<char[]>(left_));
    free_ = text_.back().get();
    text_bytes_ += left_;
  }
  std::memcpy(free_, word.data(), word.size());
  const auto id = static_cast<WordId>(size_++);
  if (id % kBlock == 0) words_.push_back(std::make_unique<std::string_view[]>(kBlock));
  words_.back()[id % kBlock] = {free_, word.size()};
  free_ += word.size();
  left_ -= word.size();
  slots_[at] = {tag, id};
  if (4 * size_ > 3 * slots_.size()) grow();
  return id;
}

void Vocabulary::grow() {
  const size_t slots = 2 * slots_.size();
  slots_ = {};  // first: never both
  slots_.assign(slots, Slot{0, kEmpty});
  const size_t mask = slots_.size() - 1;
  for (WordId id = 0; id < size_; ++id) {
    const uint64_t hash = hash64(word(id));
    size_t at = hash & mask;
    while (slots_[at].id != kEmpty) at = (at + 1) & mask;
    slots_[at] = {static_cast<uint32_t>(hash >> 32), id};
  }
}

size_t Vocabulary::bytes() const {
  return text_bytes_ + slots_.size() * sizeof(Slot) +
         words_.size() * (kBlock * sizeof(std::string_view) + sizeof(words_[0]));
}

}  // namespace hopefear::lm::estimation
