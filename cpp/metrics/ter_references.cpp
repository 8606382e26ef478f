#include "metrics/ter_references.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <tuple>

namespace hopefear {
namespace {

using Words = std::vector<WordId>;

// Tercom's limits as sacreBLEU has them.
constexpr int kMaxShiftSize = 10;
constexpr int kMaxShiftDistance = 50;
constexpr int kBeamWidth = 25;
constexpr int kMaxCandidates = 1000;

constexpr int32_t kInfinite = std::numeric_limits<int32_t>::max() / 2;

enum Operation : char { kMatch, kSubstitute, kInsert, kDelete, kUndefined };

struct Cell {
  int32_t cost = kInfinite;
  Operation operation = kUndefined;
};

// Edit distance of a hypothesis to one reference, restricted to a band around the diagonal.
// Operations rewrite the hypothesis into the reference.
class EditDistance {
 public:
  // Memory: (length of hypothesis + 1) x (length of reference + 1) cells, twice.
  void start(const Words& reference, size_t hypothesis_length) {
    reference_ = &reference;
    rows_ = static_cast<int>(hypothesis_length);
    width_ = reference.size() + 1;
    ratio_ = rows_ > 0 ? static_cast<double>(reference.size()) / rows_ : 1.0;
    beam_ =
        kBeamWidth < ratio_ / 2 ? static_cast<int>(std::ceil(ratio_ / 2 + kBeamWidth)) : kBeamWidth;
    for (std::vector<Cell>* matrix : {&base_, &trial_}) {
      matrix->assign((hypothesis_length + 1) * width_, Cell{});
      for (size_t j = 0; j < width_; ++j) (*matrix)[j] = {static_cast<int32_t>(j), kInsert};
    }
  }

  // The distance of the words that are to be changed; fills the whole matrix.
  int32_t set_base(const Words& words) {
    compute(words, 0, base_, base_);
    return base_.back().cost;
  }

  // The distance of a variant whose first `same` words are those of the base.
  int32_t distance(const Words& words, int same) {
    compute(words, same, base_, trial_);
    return same == rows_ ? base_.back().cost : trial_.back().cost;
  }

  // The operations that lead to the base's distance, first one first.
  void trace(std::vector<Operation>& operations) const {
    operations.clear();
    size_t i = static_cast<size_t>(rows_), j = width_ - 1;
    while (i > 0 || j > 0) {
      const Operation operation = base_[i * width_ + j].operation;
      if (operation == kUndefined) throw std::logic_error("TER: the band has no path");
      operations.push_back(operation);
      if (operation != kInsert) --i;
      if (operation != kDelete) --j;
    }
    std::reverse(operations.begin(), operations.end());
  }

 private:
  // Rows from same + 1 on; the row before them is in `before`.
  void compute(const Words& words, int same, const std::vector<Cell>& before,
               std::vector<Cell>& matrix) const {
    const int columns = static_cast<int>(width_);
    for (int i = same + 1; i <= rows_; ++i) {
      const int diagonal = static_cast<int>(std::floor(i * ratio_));
      const int begin = std::max(0, diagonal - beam_);
      const int end = i == rows_ ? columns : std::min(columns, diagonal + beam_);
      const Cell* above = (i == same + 1 ? before : matrix).data() + (i - 1) * width_;
      Cell* row = matrix.data() + i * width_;
      // Cells beside the band stay infinite: they were never written.
      for (int j = begin; j < end; ++j) {
        if (j == 0) {
          row[0] = {above[0].cost + 1, kDelete};
          continue;
        }
        const bool equal = words[i - 1] == (*reference_)[j - 1];
        Cell best{above[j - 1].cost + (equal ? 0 : 1), equal ? kMatch : kSubstitute};
        if (above[j].cost + 1 < best.cost) best = {above[j].cost + 1, kDelete};
        if (row[j - 1].cost + 1 < best.cost) best = {row[j - 1].cost + 1, kInsert};
        row[j] = best.cost < kInfinite ? best : Cell{};
      }
    }
  }

  const Words* reference_ = nullptr;
  int rows_ = 0;
  size_t width_ = 0;
  double ratio_ = 1;
  int beam_ = kBeamWidth;
  std::vector<Cell> base_, trial_;
};

// words with [start, start + length) moved to `target`, as Tercom understands it.
void shift(const Words& words, int start, int length, int target, Words& out) {
  const auto at = [&](int i) {
    return words.begin() + std::min(i, static_cast<int>(words.size()));
  };
  out.clear();
  const auto add = [&](int begin, int end) {
    if (begin < end) out.insert(out.end(), at(begin), at(end));
  };
  const int size = static_cast<int>(words.size());
  if (target < start) {
    add(0, target);
    add(start, start + length);
    add(target, start);
    add(start + length, size);
  } else if (target > start + length) {
    add(0, start);
    add(start + length, target);
    add(start, start + length);
    add(target, size);
  } else {  // within the shifted words
    add(0, start);
    add(start + length, length + target);
    add(start, start + length);
    add(length + target, size);
  }
}

class TerCounter : public Counter {
 public:
  explicit TerCounter(const TerReferences& references) : references_(references) {}

  void count(size_t sentence, std::span<const WordId> words, int32_t* row) override {
    int32_t best = std::numeric_limits<int32_t>::max();
    for (const Words& reference : references_.references(sentence)) {
      best = std::min(best, edits(words, reference));
    }
    row[0] = best;
    row[1] = mean_length(references_.lengths(sentence));
  }

 private:
  int32_t edits(std::span<const WordId> hypothesis, const Words& reference) {
    if (reference.empty()) return static_cast<int32_t>(hypothesis.size());
    words_.assign(hypothesis.begin(), hypothesis.end());
    distance_.start(reference, words_.size());
    int checked = 0;
    int32_t shifts = 0;
    while (true) {
      const int32_t before = distance_.set_base(words_);
      const int32_t gain = best_shift(reference, before, checked);
      if (checked >= kMaxCandidates || gain <= 0) return shifts + before;
      ++shifts;
      words_.swap(best_words_);
    }
  }

  // The shift that lowers the distance most, in best_words_; its gain, 0 without any.
  int32_t best_shift(const Words& reference, int32_t before, int& checked) {
    align(reference.size());
    const int n = static_cast<int>(words_.size()), m = static_cast<int>(reference.size());
    // Tercom's preference: gain, then length, then early in the hypothesis, then early target.
    std::tuple<int32_t, int, int, int> best{0, 0, 0, 0};
    bool found = false;
    for (int h = 0; h < n; ++h) {
      for (int r = std::max(0, h - kMaxShiftDistance); r < std::min(m, h + kMaxShiftDistance + 1);
           ++r) {
        for (int length = 1; length <= kMaxShiftSize && h + length <= n && r + length <= m;
             ++length) {
          if (words_[h + length - 1] != reference[r + length - 1]) break;
          // Only where the hypothesis is wrong and the reference is not yet matched.
          if (hypothesis_errors_[h + length] == hypothesis_errors_[h]) continue;
          if (reference_errors_[r + length] == reference_errors_[r]) continue;
          if (h <= aligned_[r] && aligned_[r] < h + length) continue;
          int last = -1;
          for (int offset = -1; offset < length; ++offset) {
            const int target = r + offset == -1 ? 0 : aligned_[r + offset] + 1;
            if (target == last) continue;
            last = target;
            shift(words_, h, length, target, shifted_);
            const int32_t gain = before - distance_.distance(shifted_, std::min(h, target));
            const std::tuple candidate{gain, length, -h, -target};
            ++checked;
            if (!found || candidate > best) {
              found = true;
              best = candidate;
              best_words_.swap(shifted_);
            }
          }
          if (checked >= kMaxCandidates) return std::get<0>(best);
        }
      }
    }
    return std::get<0>(best);
  }

  // From the operations: the last hypothesis position before each reference position, and running
  // sums of errors on both sides.
  void align(size_t reference_length) {
    distance_.trace(operations_);
    aligned_.clear();
    hypothesis_errors_.assign(1, 0);
    reference_errors_.assign(1, 0);
    int position = -1;
    for (const Operation operation : operations_) {
      const int error = operation == kMatch ? 0 : 1;
      if (operation != kInsert) {  // consumes a word of the hypothesis
        ++position;
        hypothesis_errors_.push_back(hypothesis_errors_.back() + error);
      }
      if (operation != kDelete) {
        aligned_.push_back(position);
        reference_errors_.push_back(reference_errors_.back() + error);
      }
    }
    if (aligned_.size() != reference_length) throw std::logic_error("TER: incomplete alignment");
  }

  const TerReferences& references_;
  EditDistance distance_;
  Words words_, shifted_, best_words_;
  std::vector<Operation> operations_;
  std::vector<int> aligned_, hypothesis_errors_, reference_errors_;
};

}  // namespace

void TerReferences::add_sentence(std::span<const std::vector<WordId>> references) {
  add_lengths(references);
  first_.push_back(words_.size());
  words_.insert(words_.end(), references.begin(), references.end());
}

std::unique_ptr<Counter> TerReferences::counter() const {
  return std::make_unique<TerCounter>(*this);
}

}  // namespace hopefear
