#include "forest/lines.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <stdexcept>

#include "base/interrupt.hpp"

namespace hopefear {
namespace {

constexpr size_t kLanes = 8;  // points on a line per pass
using Places = std::array<double, kLanes>;

// The first points on a line, as fractions of the reach: most corners are near the weights.
constexpr Places kFirst = {-1, -0.1, -0.03, -0.01, 0.01, 0.03, 0.1, 1};

class Lines {
 public:
  Lines(const Forest& forest, Scores scores, Roots roots)
      : forest_(forest),
        a_(forest.arrays()),
        scores_(scores),
        roots_(roots),
        best_(forest.nodes() * kLanes) {}

  // Finds all derivations that are best somewhere on one line.
  void follow(std::span<const double> slopes, double reach) {
    slopes_ = slopes;
    Places at = kFirst;
    for (double& x : at) x *= reach;
    pass(at);
    std::vector<Found> row;  // from left to right
    for (size_t lane = 0; lane < kLanes; ++lane) row.push_back(take(at, lane));
    std::vector<Gap> open, next;
    for (size_t i = 0; i + 1 < row.size(); ++i) open.push_back({row[i], row[i + 1]});
    while (!open.empty()) {
      next.clear();
      size_t used = 0;
      std::array<Gap, kLanes> gaps;
      const auto look = [&] {
        if (used == 0) return;
        for (size_t lane = used; lane < kLanes; ++lane) at[lane] = at[0];
        pass(at);
        for (size_t lane = 0; lane < used; ++lane) split(gaps[lane], at, lane, next);
        used = 0;
      };
      for (const Gap& gap : open) {
        if (!crossing(gap, at[used])) continue;
        gaps[used++] = gap;
        if (used == kLanes) look();
      }
      look();
      std::swap(open, next);
    }
  }

  // Evaluates x = 0, where all lines meet. False if there is no derivation.
  bool begin() {
    std::optional<Derivation> best = viterbi(forest_, scores_, roots_);
    if (!best.has_value()) return false;
    seen_.insert(best->edges);
    found_.push_back(std::move(*best));
    return true;
  }

  std::vector<Derivation> take_found() { return std::move(found_); }

 private:
  struct Found {  // the line of a derivation that is best at x
    double x, intercept, slope;
  };
  struct Gap {
    Found left, right;
  };

  double value(uint32_t e, size_t lane, double x) const {
    double score = scores_[e] + slopes_[e] * x;
    for (uint32_t i = a_.tail_begin[e]; i < a_.tail_begin[e + 1]; ++i) {
      score += best_[a_.tails[i] * kLanes + lane];
    }
    return score;
  }

  // The best scores of all nodes at all points. Edges are chosen later, for the few nodes of the
  // best derivations (take).
  void pass(const Places& at) {
    poll_interrupt();
    for (uint32_t n = 0; n < forest_.nodes(); ++n) {
      Places top;
      top.fill(kNever);
      for (uint32_t e = a_.node_edges[n]; e < a_.node_edges[n + 1]; ++e) {
        Places sum;
        for (size_t l = 0; l < kLanes; ++l) sum[l] = scores_[e] + slopes_[e] * at[l];
        for (uint32_t i = a_.tail_begin[e]; i < a_.tail_begin[e + 1]; ++i) {
          const double* const tail = best_.data() + a_.tails[i] * kLanes;
          for (size_t l = 0; l < kLanes; ++l) sum[l] += tail[l];
        }
        for (size_t l = 0; l < kLanes; ++l) top[l] = top[l] < sum[l] ? sum[l] : top[l];
      }
      std::copy(top.begin(), top.end(), best_.begin() + n * kLanes);
    }
  }

  // The best derivation of a lane, kept if it is new.
  Found take(const Places& at, size_t lane) {
    const auto top = [&](uint32_t n) { return best_[n * kLanes + lane]; };
    const uint32_t root = *std::max_element(
        roots_.begin(), roots_.end(), [&](uint32_t x, uint32_t y) { return top(x) < top(y); });
    std::vector<uint32_t> edges = expand_derivation(forest_, root, [&](uint32_t n) {
      uint32_t best = a_.node_edges[n];
      double score = value(best, lane, at[lane]);
      for (uint32_t e = best + 1; e < a_.node_edges[n + 1]; ++e) {
        const double other = value(e, lane, at[lane]);
        if (other > score) score = other, best = e;
      }
      return best;
    });
    Found line{at[lane], 0, 0};
    for (const uint32_t e : edges) {
      line.intercept += scores_[e];
      line.slope += slopes_[e];
    }
    if (seen_.insert(edges).second) found_.push_back({forest_, std::move(edges), line.intercept});
    return line;
  }

  // The point where two lines cross, if it lies between them beyond rounding.
  static bool crossing(const Gap& gap, double& x) {
    const double steeper = gap.right.slope - gap.left.slope;
    if (steeper <= 1e-12 * std::max(1.0, std::abs(gap.right.slope))) return false;
    x = (gap.left.intercept - gap.right.intercept) / steeper;
    return x > gap.left.x && x < gap.right.x;
  }

  // If a derivation is better at the crossing of two lines, there may be more on both sides of it.
  void split(const Gap& gap, const Places& at, size_t lane, std::vector<Gap>& next) {
    double score = kNever;
    for (const uint32_t r : roots_) score = std::max(score, best_[r * kLanes + lane]);
    const double known = gap.left.intercept + gap.left.slope * at[lane];
    if (score <= known + 1e-10 * std::max(1.0, std::abs(known))) return;
    const Found middle = take(at, lane);
    next.push_back({gap.left, middle});
    next.push_back({middle, gap.right});
  }

  const Forest& forest_;
  const ForestView& a_;
  const Scores scores_;
  const Roots roots_;
  std::span<const double> slopes_;
  std::vector<double> best_;  // of each node, by lane
  std::set<std::vector<uint32_t>> seen_;
  std::vector<Derivation> found_;
};

}  // namespace

std::vector<Derivation> best_on_lines(const Forest& forest, Scores scores,
                                      std::span<const Weights* const> directions, double reach,
                                      Roots roots) {
  if (!(reach > 0 && std::isfinite(reach)))
    throw std::invalid_argument("reach must be finite and above 0");
  Lines lines(forest, scores, roots);
  if (!lines.begin()) return {};
  for (const Weights* const direction : directions) {
    const std::vector<double> slopes = edge_scores(forest, *direction);
    const auto is = [&](auto&& what) { return std::all_of(slopes.begin(), slopes.end(), what); };
    if (is([](double slope) { return slope == 0; })) continue;  // no edge has such features
    if (!is([](double slope) { return std::isfinite(slope); })) {
      throw std::invalid_argument("slopes must be finite");
    }
    lines.follow(slopes, reach);
  }
  return lines.take_found();
}

}  // namespace hopefear
