#include "forest/envelope.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/interrupt.hpp"

namespace hopefear {
namespace {

// Slopes that differ by less are treated as equal: they are sums of the same features in another
// order, and their crossing, around 10^12, would be meaningless.
bool same_slope(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::max({1.0, std::abs(a), std::abs(b)});
}

}  // namespace

// Makes upper_ the upper envelope of upper_ and more_, both sorted by slope, and sets the starts.
// Merging edge by edge keeps the lists short and is faster than sorting all lines of a node.
void Envelope::merge() {
  merged_.resize(upper_.size() + more_.size());
  std::merge(upper_.begin(), upper_.end(), more_.begin(), more_.end(), merged_.begin(),
             [](const Line& a, const Line& b) {
               return a.slope != b.slope ? a.slope < b.slope : a.intercept > b.intercept;
             });
  std::swap(upper_, merged_);
  std::vector<Line>& candidates = upper_;
  size_t kept = 0;
  for (const Line& candidate : candidates) {
    Line line = candidate;
    if (kept > 0 && same_slope(candidates[kept - 1].slope, line.slope)) {
      if (line.intercept <= candidates[kept - 1].intercept) continue;
      --kept;
    }
    line.start = kNever;
    while (kept > 0) {
      const Line& top = candidates[kept - 1];
      const double crossing = (top.intercept - line.intercept) / (line.slope - top.slope);
      if (crossing > top.start) {
        line.start = crossing;
        break;
      }
      --kept;
    }
    candidates[kept++] = line;
  }
  candidates.resize(kept);
}

// Makes more_ the lines of one edge: the sum of its tails' envelopes, computed from left to right.
void Envelope::add_edge(const Forest& forest, Scores scores, std::span<const double> slopes,
                        uint32_t edge) {
  more_.clear();
  if (scores[edge] == kNever) return;
  const std::span<const uint32_t> tails = forest.tails(edge);
  std::vector<uint32_t>& at = at_;
  at.clear();
  for (const uint32_t t : tails) {
    if (first_[t] == first_[t + 1]) return;  // no derivation
    at.push_back(first_[t]);
  }
  while (true) {
    Line line{slopes[edge], scores[edge], 0, edge, static_cast<uint32_t>(tried_.size())};
    for (const uint32_t choice : at) {
      line.slope += lines_[choice].slope;
      line.intercept += lines_[choice].intercept;
    }
    tried_.insert(tried_.end(), at.begin(), at.end());
    more_.push_back(line);
    double next = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < tails.size(); ++i) {
      if (at[i] + 1 < first_[tails[i] + 1]) next = std::min(next, lines_[at[i] + 1].start);
    }
    if (next == std::numeric_limits<double>::infinity()) return;
    for (size_t i = 0; i < tails.size(); ++i) {
      if (at[i] + 1 < first_[tails[i] + 1] && lines_[at[i] + 1].start == next) ++at[i];
    }
  }
}

Envelope::Envelope(const Forest& forest, Scores scores, std::span<const double> slopes, Roots roots)
    : forest_(forest), first_(size_t{forest.nodes()} + 1, 0) {
  for (const double slope : slopes) {
    if (!std::isfinite(slope)) throw std::invalid_argument("a slope is not finite");
  }
  for (uint32_t n = 0; n < forest.nodes(); ++n) {
    if ((n & 0x3ff) == 0) poll_interrupt();
    upper_.clear();
    tried_.clear();
    const auto [begin, end] = forest.in_edges(n);
    for (uint32_t e = begin; e < end; ++e) {
      add_edge(forest, scores, slopes, e);
      merge();
    }
    for (Line line : upper_) {
      const auto from = tried_.begin() + line.choice;
      line.choice = static_cast<uint32_t>(choices_.size());
      choices_.insert(choices_.end(), from, from + forest.tails(line.edge).size());
      lines_.push_back(line);
    }
    first_[n + 1] = static_cast<uint32_t>(lines_.size());
  }
  upper_.clear();
  for (const uint32_t r : roots) {
    more_.assign(lines_.begin() + first_[r], lines_.begin() + first_[r + 1]);
    for (size_t i = 0; i < more_.size(); ++i) {
      more_[i].choice = first_[r] + static_cast<uint32_t>(i);
    }
    merge();
  }
  for (const Line& line : upper_) {
    segments_.push_back({line.start, line.slope, line.intercept});
    segment_lines_.push_back(line.choice);
  }
  upper_ = more_ = merged_ = {};
  tried_ = at_ = {};
}

Derivation Envelope::derivation(size_t segment, double x) const {
  if (segment >= segments_.size()) throw std::out_of_range("no such segment");
  const Segment& s = segments_[segment];
  std::vector<uint32_t> edges, open = {segment_lines_[segment]};
  while (!open.empty()) {
    const Line& line = lines_[open.back()];
    open.pop_back();
    edges.push_back(line.edge);
    check_derivation_size(forest_, edges.size());
    for (size_t i = forest_.tails(line.edge).size(); i-- > 0;) {
      open.push_back(choices_[line.choice + i]);
    }
  }
  return {forest_, std::move(edges), s.intercept + s.slope * x};
}

}  // namespace hopefear
