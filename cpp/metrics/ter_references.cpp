#include "metrics/ter_references.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <tuple>

namespace hopefear {
namespace {

using Words = std::vector<WordId>;

// Tercom's limits, with sacreBLEU's values.
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
// Operations rewrite the hypothesis into the reference. Only the band is kept, so that memory grows
// with the length of a line and not with its square.
class EditDistance {
 public:
  void start(const Words& reference, size_t hypothesis_length) {
    reference_ = &reference;
    rows_ = static_cast<int>(hypothesis_length);
    columns_ = static_cast<int>(reference.size()) + 1;
    ratio_ = rows_ > 0 ? static_cast<double>(reference.size()) / rows_ : 1.0;
    beam_ =
        kBeamWidth < ratio_ / 2 ? static_cast<int>(std::ceil(ratio_ / 2 + kBeamWidth)) : kBeamWidth;
    // A row is read by the next one, whose band begins and ends up to `ratio` cells later.
    stride_ = 2 * static_cast<size_t>(beam_) + static_cast<size_t>(std::ceil(ratio_)) + 4;
    for (std::vector<Cell>* matrix : {&base_, &trial_}) {
      matrix->assign((hypothesis_length + 1) * stride_, Cell{});
      // Row 0 inserts the reference word by word; only what row 1 reads is needed.
      for (int j = begin(0); j < columns_ && cell(*matrix, 0, j) < matrix->data() + stride_; ++j) {
        *cell(*matrix, 0, j) = {j, kInsert};
      }
    }
  }

  // Sets the words that variants are compared with; returns their distance.
  int32_t set_base(const Words& words) {
    compute(words, 0, base_, base_);
    return last(base_);
  }

  // The distance of a variant whose first `same` words are those of the base.
  int32_t distance(const Words& words, int same) {
    compute(words, same, base_, trial_);
    return last(same == rows_ ? base_ : trial_);
  }

  // The operations that lead to the base's distance, from left to right.
  void trace(std::vector<Operation>& operations) {
    operations.clear();
    int i = rows_, j = columns_ - 1;
    while (i > 0 || j > 0) {
      const Operation operation = i == 0 ? kInsert : cell(base_, i, j)->operation;
      if (operation == kUndefined) throw std::logic_error("TER: the band has no path");
      operations.push_back(operation);
      if (operation != kInsert) --i;
      if (operation != kDelete) --j;
    }
    std::reverse(operations.begin(), operations.end());
  }

 private:
  int diagonal(int i) const { return static_cast<int>(std::floor(i * ratio_)); }
  int begin(int i) const { return std::max(0, diagonal(i) - beam_); }
  int end(int i) const { return i == rows_ ? columns_ : std::min(columns_, diagonal(i) + beam_); }
  // Column j of row i; one infinite cell stands before the band, the others behind it.
  Cell* cell(std::vector<Cell>& matrix, int i, int j) const {
    return matrix.data() + static_cast<size_t>(i) * stride_ + (j - begin(i) + 1);
  }
  int32_t last(std::vector<Cell>& matrix) const {
    return rows_ == 0 ? columns_ - 1 : cell(matrix, rows_, columns_ - 1)->cost;
  }

  // Rows from same + 1 on; the row before them is in `before`.
  void compute(const Words& words, int same, std::vector<Cell>& before,
               std::vector<Cell>& matrix) const {
    for (int i = same + 1; i <= rows_; ++i) {
      const int first = begin(i), behind = end(i);
      const Cell* above = cell(i == same + 1 ? before : matrix, i - 1, first);
      Cell* row = cell(matrix, i, first);
      // Cells beside the band stay infinite: they were never written.
      for (int j = first; j < behind; ++j, ++above, ++row) {
        if (j == 0) {
          *row = {above->cost + 1, kDelete};
          continue;
        }
        const bool equal = words[i - 1] == (*reference_)[j - 1];
        Cell best{above[-1].cost + (equal ? 0 : 1), equal ? kMatch : kSubstitute};
        if (above->cost + 1 < best.cost) best = {above->cost + 1, kDelete};
        if (row[-1].cost + 1 < best.cost) best = {row[-1].cost + 1, kInsert};
        *row = best.cost < kInfinite ? best : Cell{};
      }
    }
  }

  const Words* reference_ = nullptr;
  int rows_ = 0;
  int columns_ = 1;
  double ratio_ = 1;
  int beam_ = kBeamWidth;
  size_t stride_ = 0;
  std::vector<Cell> base_, trial_;
};

// Copies `words` to `out` with [start, start + length) moved to `target`, as Tercom does.
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

  // Puts the words after the best shift into best_words_; returns its gain, 0 if no shift helps.
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
          // Shifts only wrong words of the hypothesis to unmatched words of the reference.
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
