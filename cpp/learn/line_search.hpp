// Exact line search over candidates for MERT [och2003mert]: along w + x * direction every
// candidate's score is a line in x, the best candidate of a group changes at the corners of the
// upper envelope of its lines, and between neighbouring corners of all groups the corpus score is
// constant.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <variant>
#include <vector>

namespace hopefear {

// Takes the candidates' groups, statistics and the columns to search. Owns copies in its own
// layout: 4 bytes per row and column for values, 4 for their order, and 2 or 4 for each statistic.
// Immutable after construction: any number of threads may search at once.
class LineSearch {
 public:
  // Rows x width. Corners access rows at random; 16-bit statistics take a third less time.
  using Statistics = std::variant<std::vector<int16_t>, std::vector<int32_t>>;

  // `begin`: groups + 1; `dense`: rows x `stride`, of which `moving` are the columns to search.
  LineSearch(std::span<const int64_t> begin, std::span<const float> dense, size_t stride,
             std::span<const int64_t> moving, Statistics statistics, size_t width);

  size_t rows() const { return rows_; }
  size_t columns() const { return columns_; }
  size_t width() const { return width_; }

  // A place where the best row of a group changes.
  struct Corner {
    double x;
    uint32_t from, to;  // rows
  };
  struct Envelopes {
    std::vector<int64_t> start;   // summed statistics left of all corners
    std::vector<Corner> corners;  // ascending in x
  };

  // Updates summed statistics from the left to the right of a corner.
  void move(const Corner& corner, int64_t* sums) const {
    with_statistics([&](const auto& table) {
      const auto *from = row(table, corner.from), *to = row(table, corner.to);
      for (size_t k = 0; k < width_; ++k) sums[k] += to[k] - from[k];
    });
  }

  void prefetch(const Corner& corner) const {
    with_statistics([&](const auto& table) {
      __builtin_prefetch(row(table, corner.from));
      __builtin_prefetch(row(table, corner.to));
    });
  }

  // scores[r] = base[r] + sum over columns of weights * values. Always summed in the same order.
  void scores(std::span<const double> base, std::span<const double> weights,
              std::span<double> out) const;
  // Updates scores in place after a step x along a column and a scaling by `factor`; a tenth of the
  // work of scores().
  void step(std::span<double> scores, size_t column, double x, double factor) const;
  // The slopes of all rows along a direction.
  void slopes(std::span<const double> direction, std::span<double> out) const;

  // Envelopes along a single column, whose slopes are sorted once, at construction. About O(rows),
  // like along(): lines below the chords between the outermost lines and the best one at 0 are
  // dropped at once, which is two thirds or more of them.
  Envelopes along_column(std::span<const double> scores, size_t column) const;
  // Envelopes along any direction: only the remaining lines are sorted.
  Envelopes along(std::span<const double> scores, std::span<const double> slopes) const;

 private:
  Envelopes empty() const;
  // Sums the statistics of the leftmost rows, sorts the corners.
  void finish(std::span<const uint32_t> lefts, Envelopes& out) const;
  // Instead of std::visit, whose call through a table for every corner doubles the time.
  template <typename Use>
  void with_statistics(const Use& use) const {
    if (const auto* narrow = std::get_if<std::vector<int16_t>>(&statistics_)) {
      use(*narrow);
    } else {
      use(std::get<std::vector<int32_t>>(statistics_));
    }
  }
  template <typename Table>
  const typename Table::value_type* row(const Table& table, uint32_t number) const {
    return table.data() + size_t{number} * width_;
  }

  size_t rows_, columns_, width_;
  size_t largest_ = 0;  // rows of the largest group
  std::vector<uint32_t> begin_;
  std::vector<float> values_;  // column after column
  Statistics statistics_;
  std::vector<uint32_t> order_;     // column after column: rows of each group by ascending value
  std::vector<uint32_t> distinct_;  // column after column: number of distinct values of each group
};

// Corpus BLEU of summed statistics (match1, total1, …, reference length), equal to the Python
// metric's with smooth=exp.
struct BleuObjective {
  size_t order = 4;
  double length_unit = 1;
  // BLEU^order: ranks like BLEU but needs no logarithms. May return 0 for a value that is not above
  // `threshold`.
  double power(const int64_t* statistics, double threshold = -1) const;
  double score(double power) const;
};

// Finds the best interval and returns its middle, but at most `margin` beyond the end that is
// nearer to 0 (nearly equal slopes make corners far out, and the middle between two of them would
// outweigh all other weights). Intervals narrower than `narrow` are skipped (corners of many groups
// coincide up to rounding); ties go to the first one; if none is better than the interval around 0,
// x is 0. If there is a corner at 0 (closer than half of `narrow`) x is never 0, since 0 is in no
// interval: with zero weights every line has a corner there.
struct LineOptimum {
  // x, the corpus score at x, and the corpus score at 0 (-infinity: 0 is a corner).
  double x = 0, score = 0, score_at_zero = 0;
};
LineOptimum best_interval(const LineSearch& search, const LineSearch::Envelopes& envelopes,
                          const BleuObjective& objective, double narrow, double margin);

// Summed statistics of every interval, from left to right: (corners + 1) x width.
std::vector<int64_t> interval_statistics(const LineSearch& search,
                                         const LineSearch::Envelopes& envelopes);

}  // namespace hopefear
