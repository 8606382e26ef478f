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

// Groups, statistics and the columns that may move. Owns copies in the layout that the search
// wants: 4 bytes per row and column for values, as much again for their order, 2 or 4 for each
// statistic. Immutable after construction: any number of threads may search at once.
class LineSearch {
 public:
  // Rows x width. Corners read rows all over memory, and half as wide ones cost a third less.
  using Statistics = std::variant<std::vector<int16_t>, std::vector<int32_t>>;

  // `begin`: groups + 1; `dense`: rows x `stride`, of which `moving` are the columns of the search.
  LineSearch(std::span<const int64_t> begin, std::span<const float> dense, size_t stride,
             std::span<const int64_t> moving, Statistics statistics, size_t width);

  size_t rows() const { return rows_; }
  size_t columns() const { return columns_; }
  size_t width() const { return width_; }

  // Where the best row of a group changes, ascending in x.
  struct Corner {
    double x;
    uint32_t from, to;  // rows
  };
  struct Envelopes {
    std::vector<int64_t> start;  // summed statistics left of all corners
    std::vector<Corner> corners;
  };

  // Summed statistics on the other side of a corner.
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
  // Scores become those after a step x along a column and a scaling: a tenth of the work of
  // `scores`.
  void step(std::span<double> scores, size_t column, double x, double factor) const;
  // Slopes of all rows along a direction.
  void slopes(std::span<const double> direction, std::span<double> out) const;

  // Along a single column the slopes never change, so they were sorted when this was made.
  // About O(rows), as `along`: lines under the chords between the outermost lines and the best one
  // at 0 are dropped at once, two thirds or more.
  Envelopes along_column(std::span<const double> scores, size_t column) const;
  // Along any direction: only what is left is sorted.
  Envelopes along(std::span<const double> scores, std::span<const double> slopes) const;

 private:
  Envelopes empty() const;
  // Sums the statistics of the leftmost rows, sorts the corners.
  void finish(std::span<const uint32_t> lefts, Envelopes& out) const;
  // std::visit calls through a table: twice the time where it is done for every corner.
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
  size_t largest_ = 0;  // group
  std::vector<uint32_t> begin_;
  std::vector<float> values_;  // column after column
  Statistics statistics_;
  std::vector<uint32_t> order_;     // column after column: rows of each group by ascending value
  std::vector<uint32_t> distinct_;  // column after column: different values of each group
};

// Corpus BLEU of summed statistics (match1, total1, …, reference length), equal to the Python
// metric's with smooth=exp.
struct BleuObjective {
  size_t order = 4;
  double length_unit = 1;
  // BLEU^order: the same order of values, without the logarithms. What is surely not above `worth`
  // may come out as 0.
  double power(const int64_t* statistics, double worth = -1) const;
  double score(double power) const;
};

// The best interval: the middle of it, but no further than `margin` behind its end that is nearer
// to 0 (where slopes are nearly equal corners are far out, and the middle between two such would
// leave nothing of the other weights). Intervals narrower than `narrow` are passed over (many
// groups have corners at the same place, but for rounding); the first of equally good ones wins; if
// none is better than the one around 0, x is 0. A corner at 0 (nearer than half of `narrow`) is
// left in any case, as its score is that of no interval: from weights that are all 0 every line
// begins on one.
struct LineOptimum {
  // The place, the corpus score there, and the one at 0 (-infinity: it is a corner).
  double x = 0, score = 0, here = 0;
};
LineOptimum best_interval(const LineSearch& search, const LineSearch::Envelopes& envelopes,
                          const BleuObjective& objective, double narrow, double margin);

// Summed statistics of every interval, from left to right: (corners + 1) x width.
std::vector<int64_t> interval_statistics(const LineSearch& search,
                                         const LineSearch::Envelopes& envelopes);

}  // namespace hopefear
