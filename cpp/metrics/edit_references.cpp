#include "metrics/edit_references.hpp"

#include <algorithm>

namespace hopefear {
namespace {

constexpr size_t kBlock = 64;  // cells of a column in one number

// The positions of every unit of a reference, as bits. Kept from one hypothesis to the next, which
// usually has the same references.
class Pattern {
 public:
  explicit Pattern(const std::vector<WordId>& reference)
      : length_(reference.size()), blocks_((reference.size() + kBlock - 1) / kBlock) {
    units_ = reference;
    std::sort(units_.begin(), units_.end());
    units_.erase(std::unique(units_.begin(), units_.end()), units_.end());
    bits_.assign((units_.size() + 1) * blocks_, 0);  // the last row: of units not in the reference
    for (size_t i = 0; i < length_; ++i) {
      bits_[row(reference[i]) * blocks_ + i / kBlock] |= uint64_t{1} << (i % kBlock);
    }
  }

  size_t length() const { return length_; }

  // The edit distance of a hypothesis; `up` and `down` are scratch memory.
  int32_t distance(std::span<const WordId> hypothesis, std::vector<uint64_t>& up,
                   std::vector<uint64_t>& down) const {
    if (length_ == 0) return static_cast<int32_t>(hypothesis.size());
    up.assign(blocks_, ~uint64_t{0});  // vertical differences of +1 …
    down.assign(blocks_, 0);           // … and of -1
    auto distance = static_cast<int32_t>(length_);
    const uint64_t last = uint64_t{1} << ((length_ - 1) % kBlock);
    for (const WordId unit : hypothesis) {
      const uint64_t* const equal = bits_.data() + row(unit) * blocks_;
      uint64_t carry_up = 1, carry_down = 0;  // row 0 of the table ascends by 1
      for (size_t b = 0; b < blocks_;
           ++b) {  // Hyyrö 2003: the distance of prefixes, block by block
        const uint64_t vertical = equal[b] | down[b];
        const uint64_t match = equal[b] | carry_down;
        const uint64_t diagonal = (((match & up[b]) + up[b]) ^ up[b]) | match | down[b];
        uint64_t right_up = down[b] | ~(diagonal | up[b]);
        uint64_t right_down = diagonal & up[b];
        if (b + 1 == blocks_) {
          distance += (right_up & last) != 0 ? 1 : 0;
          distance -= (right_down & last) != 0 ? 1 : 0;
        }
        const uint64_t out_up = right_up >> (kBlock - 1), out_down = right_down >> (kBlock - 1);
        right_up = right_up << 1 | carry_up;
        right_down = right_down << 1 | carry_down;
        carry_up = out_up;
        carry_down = out_down;
        up[b] = right_down | ~(vertical | right_up);
        down[b] = right_up & vertical;
      }
    }
    return distance;
  }

 private:
  size_t row(WordId unit) const {
    const auto place = std::lower_bound(units_.begin(), units_.end(), unit);
    return place != units_.end() && *place == unit ? static_cast<size_t>(place - units_.begin())
                                                   : units_.size();
  }

  size_t length_, blocks_;
  std::vector<WordId> units_;   // sorted
  std::vector<uint64_t> bits_;  // (units + 1, blocks)
};

class EditCounter : public Counter {
 public:
  explicit EditCounter(const EditReferences& references) : references_(references) {}

  void count(size_t sentence, std::span<const WordId> words, int32_t* row) override {
    if (!known_ || sentence != sentence_) {
      patterns_.clear();
      for (const auto& reference : references_.references(sentence)) {
        patterns_.emplace_back(reference);
      }
      known_ = true;
      sentence_ = sentence;
    }
    bool first = true;
    for (const Pattern& pattern : patterns_) {
      const int32_t edits = pattern.distance(words, up_, down_);
      const auto length = static_cast<int32_t>(pattern.length());
      if (first || lower(edits, length, row[0], row[1])) {
        row[0] = edits;
        row[1] = length;
      }
      first = false;
    }
  }

 private:
  // Whether edits / length is a lower rate; that of an empty reference is infinite, or 0.
  static bool lower(int32_t edits, int32_t length, int32_t other, int32_t other_length) {
    if (edits == 0 || other == 0) return edits == 0 && other != 0;
    return int64_t{edits} * other_length < int64_t{other} * length;
  }

  const EditReferences& references_;
  std::vector<Pattern> patterns_;  // of the last sentence
  size_t sentence_ = 0;
  bool known_ = false;
  std::vector<uint64_t> up_, down_;
};

}  // namespace

void EditReferences::add_sentence(std::span<const std::vector<WordId>> references) {
  add_lengths(references);
  first_.push_back(units_.size());
  units_.insert(units_.end(), references.begin(), references.end());
}

std::unique_ptr<Counter> EditReferences::counter() const {
  return std::make_unique<EditCounter>(*this);
}

}  // namespace hopefear
