#include "learn/line_search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "base/interrupt.hpp"

namespace hopefear {

LineSearch::LineSearch(std::span<const int64_t> begin, std::span<const float> dense, size_t stride,
                       std::span<const int64_t> moving, Statistics statistics, size_t width)
    : rows_(static_cast<size_t>(begin.back())),
      columns_(moving.size()),
      width_(width),
      begin_(begin.begin(), begin.end()),
      values_(rows_ * columns_),
      statistics_(std::move(statistics)),
      order_(rows_ * columns_) {
  for (size_t g = 0; g + 1 < begin_.size(); ++g) {
    largest_ = std::max<size_t>(largest_, begin_[g + 1] - begin_[g]);
  }
  for (size_t c = 0; c < columns_; ++c) {
    poll_interrupt();
    float* values = values_.data() + c * rows_;
    uint32_t* order = order_.data() + c * rows_;
    const auto from = static_cast<size_t>(moving[c]);
    for (size_t r = 0; r < rows_; ++r) values[r] = dense[r * stride + from];
    std::iota(order, order + rows_, 0U);
    for (size_t g = 0; g + 1 < begin_.size(); ++g) {
      std::sort(order + begin_[g], order + begin_[g + 1], [values](uint32_t a, uint32_t b) {
        return values[a] != values[b] ? values[a] < values[b] : a < b;
      });
    }
    for (size_t g = 0; g + 1 < begin_.size(); ++g) {
      uint32_t distinct = begin_[g] < begin_[g + 1] ? 1 : 0;
      for (size_t i = begin_[g] + 1; i < begin_[g + 1]; ++i) {
        distinct += values[order[i]] != values[order[i - 1]] ? 1 : 0;
      }
      distinct_.push_back(distinct);
    }
  }
}

void LineSearch::scores(std::span<const double> base, std::span<const double> weights,
                        std::span<double> out) const {
  std::copy(base.begin(), base.end(), out.begin());
  for (size_t c = 0; c < columns_; ++c) {
    const float* values = values_.data() + c * rows_;
    const double weight = weights[c];
    for (size_t r = 0; r < rows_; ++r) out[r] += weight * values[r];
  }
}

void LineSearch::slopes(std::span<const double> direction, std::span<double> out) const {
  std::fill(out.begin(), out.end(), 0.0);
  for (size_t c = 0; c < columns_; ++c) {
    if (direction[c] == 0) continue;
    const float* values = values_.data() + c * rows_;
    const double weight = direction[c];
    for (size_t r = 0; r < rows_; ++r) out[r] += weight * values[r];
  }
}

namespace {

// Lines of one group. The upper envelope of lines is the upper hull of the points (slope, score).
struct Line {
  double score, slope;
  uint32_t row;
};

// Allocated once for all lines, so that a line can be added conditionally without a branch.
struct Lines {
  explicit Lines(size_t room) : all(room) {}
  std::vector<Line> all;
  size_t size = 0;

  void add(double score, double slope, uint32_t row, bool really = true) {
    all[size] = {score, slope, row};
    size += really ? 1 : 0;
  }
};

// Whether a point is above the chord between two others; most points are below and cannot be on the
// envelope.
class Chord {
 public:
  Chord(double slope_1, double score_1, double slope_2, double score_2)
      : slope_(slope_1), score_(score_1), run_(slope_2 - slope_1), rise_(score_2 - score_1) {}
  bool above(double slope, double score) const {
    return (score - score_) * run_ > (slope - slope_) * rise_;
  }

 private:
  double slope_, score_, run_, rise_;
};

// Of lines with ascending slopes those on the envelope stay; their corners are added. Of lines that
// meet in one point the outer two stay, of equal lines the first one. (Searching for the next line
// among all remaining ones would double the time.)
void corners_of(Lines& lines, std::vector<LineSearch::Corner>& corners) {
  std::vector<Line>& all = lines.all;
  size_t kept = 0;
  for (size_t i = 0; i < lines.size; ++i) {
    const Line line = all[i];
    if (kept > 0 && all[kept - 1].slope == line.slope) {
      if (line.score <= all[kept - 1].score) continue;
      --kept;
    }
    while (kept > 1) {
      const Line &a = all[kept - 2], &b = all[kept - 1];
      if ((b.score - a.score) * (line.slope - a.slope) >
          (line.score - a.score) * (b.slope - a.slope)) {
        break;
      }
      --kept;
    }
    all[kept++] = line;
  }
  double last = -std::numeric_limits<double>::infinity();
  for (size_t i = 1; i < kept; ++i) {
    const Line &from = all[i - 1], &to = all[i];
    // Rounding could put a corner in front of the one before it.
    last = std::max(last, (from.score - to.score) / (to.slope - from.slope));
    corners.push_back({last, from.row, to.row});
  }
}

// The highest of lines with equal slope, of equal ones the first row; they are neighbours in order.
// Slopes are looked up by row: a group is in the cache, and a sorted copy would be half as much
// memory again for 3 % of the time.
uint32_t highest(const double* scores, const uint32_t* order, const float* slopes, size_t& i,
                 size_t count) {
  uint32_t row = order[i];
  const float slope = slopes[row];
  for (++i; i < count && slopes[order[i]] == slope; ++i) {
    if (scores[order[i]] > scores[row]) row = order[i];
  }
  return row;
}

bool before(const LineSearch::Corner& a, const LineSearch::Corner& b) {
  return a.x != b.x ? a.x < b.x : a.to < b.to;  // sums do not depend on the order of ties
}

// The upper half of a double as a number in the same order.
uint32_t upper_half(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  const uint64_t ordered = (bits >> 63) != 0 ? ~bits : bits | (uint64_t{1} << 63);
  return static_cast<uint32_t>(ordered >> 32);
}

// Many small groups have many corners, and comparing them was a fifth of a line search: by
// counting, 11 bits at a time, and only what the upper half leaves open by comparing.
void sort_corners(std::vector<LineSearch::Corner>& corners) {
  constexpr size_t kFew = 512;
  if (corners.size() < kFew) {
    std::sort(corners.begin(), corners.end(), before);
    return;
  }
  constexpr unsigned kBits = 11, kPasses = 3;
  constexpr size_t kSlots = size_t{1} << kBits;
  std::vector<LineSearch::Corner> other(corners.size());
  std::array<std::array<uint32_t, kSlots>, kPasses> places{};
  for (const LineSearch::Corner& corner : corners) {
    const uint32_t key = upper_half(corner.x);
    for (unsigned p = 0; p < kPasses; ++p) ++places[p][(key >> (p * kBits)) % kSlots];
  }
  for (unsigned p = 0; p < kPasses; ++p) {
    uint32_t sum = 0;
    for (uint32_t& place : places[p]) sum += std::exchange(place, sum);
    for (const LineSearch::Corner& corner : corners) {
      other[places[p][(upper_half(corner.x) >> (p * kBits)) % kSlots]++] = corner;
    }
    corners.swap(other);
  }
  // Those with equal upper halves are neighbours now, mostly one or two.
  for (size_t begin = 0; begin < corners.size();) {
    size_t end = begin + 1;
    const uint32_t key = upper_half(corners[begin].x);
    while (end < corners.size() && upper_half(corners[end].x) == key) ++end;
    if (end - begin > 1) {
      std::sort(corners.begin() + static_cast<std::ptrdiff_t>(begin),
                corners.begin() + static_cast<std::ptrdiff_t>(end), before);
    }
    begin = end;
  }
}

}  // namespace

LineSearch::Envelopes LineSearch::along_column(std::span<const double> scores,
                                               size_t column) const {
  Envelopes out = empty();
  Lines lines(largest_ + 3);
  std::vector<uint32_t> lefts;
  lefts.reserve(begin_.size());
  const double* s = scores.data();
  const float* values = values_.data() + column * rows_;
  for (size_t g = 0; g + 1 < begin_.size(); ++g) {
    const uint32_t first = begin_[g], last = begin_[g + 1];
    const size_t count = last - first;
    if (count == 0) continue;
    const uint32_t* order = order_.data() + column * rows_ + first;
    if (distinct_[column * (begin_.size() - 1) + g] * 4 < count) {
      // Of lines with equal slope only the highest is relevant, so few are left.
      lines.size = 0;
      for (size_t i = 0; i < count;) {
        const uint32_t row = highest(s, order, values, i, count);
        lines.add(s[row], values[row], row);
      }
      lefts.push_back(lines.all[0].row);
    } else {
      size_t i = 0;
      const uint32_t left = highest(s, order, values, i, count);
      for (i = count - 1; i > 0 && values[order[i - 1]] == values[order[i]];) --i;
      const uint32_t right = highest(s, order, values, i, count);
      size_t middle = 0;
      for (i = 1; i < count; ++i) {
        if (s[order[i]] > s[order[middle]]) middle = i;
      }
      const uint32_t top = order[middle];
      lefts.push_back(left);
      // No branch in these loops, since it would be unpredictable.
      lines.size = 0;
      lines.add(s[left], values[left], left);
      const Chord rising(values[left], s[left], values[top], s[top]);
      for (i = 0; i < middle; ++i) {
        const uint32_t r = order[i];
        lines.add(s[r], values[r], r, rising.above(values[r], s[r]));
      }
      lines.add(s[top], values[top], top, top != left);
      const Chord falling(values[top], s[top], values[right], s[right]);
      for (i = middle + 1; i < count; ++i) {
        const uint32_t r = order[i];
        lines.add(s[r], values[r], r, falling.above(values[r], s[r]));
      }
      lines.add(s[right], values[right], right, right != top && right != left);
    }
    corners_of(lines, out.corners);
  }
  finish(lefts, out);
  return out;
}

LineSearch::Envelopes LineSearch::along(std::span<const double> scores,
                                        std::span<const double> slopes) const {
  Envelopes out = empty();
  Lines lines(largest_ + 3);
  std::vector<uint32_t> lefts;
  lefts.reserve(begin_.size());
  for (size_t g = 0; g + 1 < begin_.size(); ++g) {
    const uint32_t first = begin_[g], last = begin_[g + 1];
    if (first == last) continue;
    uint32_t left = first, right = first, top = first;
    for (uint32_t r = first + 1; r < last; ++r) {
      if (slopes[r] <= slopes[left]) {
        if (slopes[r] < slopes[left] || scores[r] > scores[left]) left = r;
      }
      if (slopes[r] >= slopes[right]) {
        if (slopes[r] > slopes[right] || scores[r] > scores[right]) right = r;
      }
      if (scores[r] > scores[top]) top = r;
    }
    lefts.push_back(left);
    // The two chords form a roof: a point above either line is above it.
    const Chord rising(slopes[left], scores[left], slopes[top], scores[top]);
    const Chord falling(slopes[top], scores[top], slopes[right], scores[right]);
    lines.size = 0;
    for (uint32_t r = first; r < last; ++r) {
      const double slope = slopes[r], score = scores[r];
      lines.add(score, slope, r, rising.above(slope, score) | falling.above(slope, score));
    }
    for (const uint32_t r : {left, top, right}) lines.add(scores[r], slopes[r], r);
    std::sort(lines.all.begin(), lines.all.begin() + static_cast<std::ptrdiff_t>(lines.size),
              [](const Line& a, const Line& b) {
                return a.slope != b.slope ? a.slope < b.slope : a.row < b.row;
              });
    corners_of(lines, out.corners);
  }
  finish(lefts, out);
  return out;
}

LineSearch::Envelopes LineSearch::empty() const {
  Envelopes out;
  out.start.assign(width_, 0);
  out.corners.reserve(begin_.size() * 8);
  return out;
}

void LineSearch::step(std::span<double> scores, size_t column, double x, double factor) const {
  const float* values = values_.data() + column * rows_;
  for (size_t r = 0; r < rows_; ++r) scores[r] = (scores[r] + x * values[r]) * factor;
}

void LineSearch::finish(std::span<const uint32_t> lefts, Envelopes& out) const {
  with_statistics([&](const auto& table) {
    for (size_t i = 0; i < lefts.size(); ++i) {
      if (i + 12 < lefts.size()) __builtin_prefetch(row(table, lefts[i + 12]));
      for (size_t k = 0; k < width_; ++k) out.start[k] += row(table, lefts[i])[k];
    }
  });
  sort_corners(out.corners);
}

double BleuObjective::power(const int64_t* s, double threshold) const {
  double matches = 1, totals = 1;
  bool matched = false;
  int zeros = 0;
  for (size_t n = 0; n < order; ++n) {
    const int64_t match = s[2 * n];
    matched |= match > 0;
    // The k-th order without a match counts 1 / 2^k matches.
    matches *= match > 0 ? static_cast<double>(match) : std::ldexp(1.0, -++zeros);
    totals *= static_cast<double>(s[2 * n + 1]);
  }
  if (!matched || totals == 0) return 0;
  // The brevity penalty only lowers the score. With a tolerance, so that rounding changes no
  // choice.
  if (matches < (1 - 1e-12) * threshold * totals) return 0;
  const double length = static_cast<double>(s[1]);
  const double reference = static_cast<double>(s[2 * order]) / length_unit;
  const double precision = matches / totals;
  if (length >= reference) return precision;
  return precision * std::exp(static_cast<double>(order) * (1 - reference / length));
}

double BleuObjective::score(double power) const {
  return std::pow(power, 1 / static_cast<double>(order));
}

LineOptimum best_interval(const LineSearch& search, const LineSearch::Envelopes& envelopes,
                          const BleuObjective& objective, double narrow, double margin) {
  const std::vector<LineSearch::Corner>& corners = envelopes.corners;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr size_t kAhead = 12;  // rows of statistics are accessed at random
  constexpr double kOnCorner = -1;
  std::vector<int64_t> sums = envelopes.start;
  double best = -1, at_zero = 0, best_low = -kInfinity, best_high = kInfinity, low = -kInfinity;
  for (size_t i = 0; i <= corners.size(); ++i) {
    const double high = i < corners.size() ? corners[i].x : kInfinity;
    const bool wide = high - low >= narrow, contains = low <= 0 && 0 < high;
    if (wide || contains) {
      const double power = objective.power(sums.data(), contains ? -1 : best);
      // At a corner rows tie, and the result would depend on which of them comes first: this is the
      // score of no interval.
      if (contains) at_zero = std::min(-low, high) < narrow / 2 ? kOnCorner : power;
      if (wide && power > best) {
        best = power;
        best_low = low;
        best_high = high;
      }
    }
    if (i == corners.size()) break;
    if (i + kAhead < corners.size()) search.prefetch(corners[i + kAhead]);
    search.move(corners[i], sums.data());
    low = high;
  }
  LineOptimum optimum;
  optimum.score_at_zero = at_zero == kOnCorner ? -kInfinity : objective.score(at_zero);
  optimum.score = objective.score(std::max(best, at_zero));
  if (best <= at_zero) return optimum;  // no gain, no step
  const double half = std::min((best_high - best_low) / 2, margin);
  const bool left = std::abs(best_high) < std::abs(best_low);
  optimum.x = left ? best_high - half : best_low + half;
  return optimum;
}

std::vector<int64_t> interval_statistics(const LineSearch& search,
                                         const LineSearch::Envelopes& envelopes) {
  const size_t width = search.width();
  std::vector<int64_t> sums = envelopes.start, all;
  all.reserve((envelopes.corners.size() + 1) * width);
  all.insert(all.end(), sums.begin(), sums.end());
  for (const LineSearch::Corner& corner : envelopes.corners) {
    search.move(corner, sums.data());
    all.insert(all.end(), sums.begin(), sums.end());
  }
  return all;
}

}  // namespace hopefear
