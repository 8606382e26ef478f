#include "learn/batch_mira.hpp"

#include <algorithm>
#include <cmath>

#include "base/interrupt.hpp"

namespace hopefear {

BatchMira::BatchMira(FeatureRows features, std::span<const int64_t> begin,
                     std::span<const int32_t> statistics, std::span<const double> gains,
                     std::vector<double> weights, std::span<const uint8_t> moves,
                     std::span<const uint8_t> complete, MiraOptions options)
    : features_(features),
      begin_(begin),
      statistics_(statistics),
      gains_(gains),
      moves_(moves),
      complete_(complete),
      options_(options),
      weights_(std::move(weights)),
      late_(weights_.size()),
      background_(2 * options.order + 1, 1.0),
      difference_(weights_.size()) {
  background_.back() = options.length_unit;  // one word
}

// BLEU of the row added to the background, times their summed reference length. The fourth root is
// taken by square roots: this is most of the time of a pass, and pow() would triple it.
double BatchMira::gain(size_t row) const {
  if (options_.order == 0) return gains_[row];
  const size_t order = options_.order;
  const int32_t* s = statistics_.data() + row * (2 * order + 1);
  double matches = 1, totals = 1;
  for (size_t n = 0; n < order; ++n) {
    matches *= s[2 * n] + background_[2 * n];
    totals *= s[2 * n + 1] + background_[2 * n + 1];
  }
  const double precision = matches / totals;
  const double mean = order == 4 ? std::sqrt(std::sqrt(precision))
                                 : std::pow(precision, 1 / static_cast<double>(order));
  const double length = s[1] + background_[1];
  const double reference = (s[2 * order] + background_[2 * order]) / options_.length_unit;
  const double brevity = length < reference ? std::exp(1 - reference / length) : 1;
  return brevity * mean * reference;
}

BatchMira::Pass BatchMira::pass(std::span<const int32_t> order) {
  Pass done;
  for (const int32_t group : order) {
    poll_interrupt();
    const auto first = static_cast<size_t>(begin_[static_cast<size_t>(group)]);
    const size_t count = static_cast<size_t>(begin_[static_cast<size_t>(group) + 1]) - first;
    if (count == 0) continue;
    if (scores_.size() < count) {
      scores_.resize(count);
      values_.resize(count);
    }
    for (size_t i = 0; i < count; ++i) {
      scores_[i] = features_.dot(first + i, weights_.data());
      values_[i] = gain(first + i);
    }
    size_t hope = 0, fear = 0, best = 0;
    for (size_t i = 1; i < count; ++i) {
      if (scores_[i] + values_[i] > scores_[hope] + values_[hope]) hope = i;
      if (scores_[i] - values_[i] > scores_[fear] - values_[fear]) fear = i;
      if (scores_[i] > scores_[best]) best = i;
    }
    if (options_.safe_hope) {
      // Limits the influence of the model's score to five times that of the gain.
      const double size = std::abs(scores_[hope]), limit = 5 * values_[hope];
      if (size > limit && limit > 0) {
        const double factor = limit / size;
        hope = 0;
        for (size_t i = 1; i < count; ++i) {
          if (factor * scores_[i] + values_[i] > factor * scores_[hope] + values_[hope]) hope = i;
        }
      }
    }
    if (hope == fear || !(values_[hope] > values_[fear])) continue;
    const double loss = values_[hope] - values_[fear] - (scores_[hope] - scores_[fear]);
    if (loss > 0) {
      done.loss += loss;
      const uint64_t before = steps_;
      step(first + hope, first + fear, loss);
      done.steps += steps_ - before;
    }
    if (options_.order > 0 && complete_[static_cast<size_t>(group)] != 0) {
      const size_t row = first + (options_.model_background ? best : hope);
      const int32_t* s = statistics_.data() + row * background_.size();
      for (size_t k = 0; k < background_.size(); ++k) {
        background_[k] = options_.decay * background_[k] + s[k];
      }
    }
  }
  return done;
}

void BatchMira::collect(size_t row, double sign) {
  if (!features_.has_sparse()) return;
  for (int64_t i = features_.sparse_begin[row]; i < features_.sparse_begin[row + 1]; ++i) {
    const auto at = static_cast<size_t>(i);
    const size_t k = features_.columns + static_cast<size_t>(features_.sparse_columns[at]);
    if (moves_[k] == 0) continue;
    if (difference_[k] == 0) touched_.push_back(k);  // twice, if it was cancelled: see step()
    difference_[k] += sign * features_.sparse_values[at];
  }
}

void BatchMira::step(size_t hope, size_t fear, double loss) {
  touched_.clear();
  const float* h = features_.dense.data() + hope * features_.columns;
  const float* f = features_.dense.data() + fear * features_.columns;
  for (size_t c = 0; c < features_.columns; ++c) {
    const double d = double{h[c]} - double{f[c]};
    if (d == 0 || moves_[c] == 0) continue;
    difference_[c] = d;
    touched_.push_back(c);
  }
  collect(hope, 1);
  collect(fear, -1);
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  double norm = 0;
  for (const size_t k : touched_) norm += difference_[k] * difference_[k];
  if (norm > 0) {
    const double size = std::min(options_.C, loss / norm);
    const auto earlier = static_cast<double>(steps_++);
    for (const size_t k : touched_) {
      weights_[k] += size * difference_[k];
      late_[k] += earlier * size * difference_[k];
    }
  }
  for (const size_t k : touched_) difference_[k] = 0;
}

std::vector<double> BatchMira::average() const {
  std::vector<double> mean = weights_;
  if (steps_ == 0) return mean;
  const auto steps = static_cast<double>(steps_);
  for (size_t k = 0; k < mean.size(); ++k) mean[k] -= late_[k] / steps;
  return mean;
}

}  // namespace hopefear
