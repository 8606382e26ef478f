#include "align/jumps.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hopefear::align {
namespace {

constexpr double kSmallest = 1e-12;  // of a weight: no jump is impossible
constexpr int kSteps = 10;           // of minorise-maximise per M-step; each is cheap

void normalise(std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& w : weights) w = std::max(w / sum, kSmallest);
}

std::vector<double> prefix_sums(const std::vector<double>& weights) {
  std::vector<double> sums(weights.size() + 1);
  for (size_t n = 0; n < weights.size(); ++n) sums[n + 1] = sums[n] + weights[n];
  return sums;
}

double dot_log(const std::vector<double>& base, const std::vector<double>& weights) {
  double result = 0;
  for (size_t n = 0; n < base.size(); ++n) result += base[n] * std::log(weights[n]);
  // The imagined jumps were free to go anywhere: their normaliser is the sum of all weights.
  return result - std::log(std::accumulate(weights.begin(), weights.end(), 0.0));
}

}  // namespace

JumpCounts::JumpCounts(size_t window) : jumps(2 * window + 3), start(window + 2) {}

void JumpCounts::reserve_length(size_t I) {
  if (departures.size() <= I) {
    departures.resize(I + 1);
    starts.resize(I + 1);
  }
  if (departures[I].empty()) departures[I].resize(I);
}

Jumps::Jumps(size_t window, double prior, double width)
    : window_(window), prior_(prior), weights_(2 * window + 3), start_(window + 2) {
  const auto fall = [width](double distance) {
    return 1 / (1 + distance * distance / (width * width));
  };
  const double W = static_cast<double>(window);
  for (size_t n = 0; n < weights_.size(); ++n) {
    weights_[n] = fall(static_cast<double>(n) - 1 - W - 1);
  }
  for (size_t n = 0; n < start_.size(); ++n) start_[n] = fall(static_cast<double>(n));
  refresh();
  base_ = weights_;
  start_base_ = start_;
}

void Jumps::set(std::vector<double> weights, std::vector<double> start) {
  weights_ = std::move(weights);
  start_ = std::move(start);
  refresh();
}

void Jumps::refresh() {
  normalise(weights_);
  normalise(start_);
  sums_ = prefix_sums(weights_);
  start_sums_ = prefix_sums(start_);
  forward_.assign(2 * (window_ + kMargin) + 1, 0.0F);
  backward_ = forward_;
  for (size_t n = 0; n <= 2 * window_; ++n) {
    forward_[kMargin + n] = static_cast<float>(weights_[1 + n]);
    backward_[kMargin + n] = static_cast<float>(weights_[1 + 2 * window_ - n]);
  }
}

void Jumps::normalisers(size_t I, std::span<float> inverse) const {
  for (size_t i = 0; i < I; ++i) {
    const size_t left = i, right = I - i;  // steps possible to either side
    double sum = sums_[1 + window_ + std::min(right, window_) + 1] -
                 sums_[1 + window_ - std::min(left, window_)];
    if (left > window_) sum += static_cast<double>(left - window_) * weights_.front();
    if (right > window_) sum += static_cast<double>(right - window_) * weights_.back();
    inverse[i] = static_cast<float>(1 / sum);
  }
}

void Jumps::first(size_t I, std::span<float> probability) const {
  const size_t positions = I + 1;
  double sum = start_sums_[std::min(positions, window_ + 1)];
  if (positions > window_ + 1) sum += static_cast<double>(positions - window_ - 1) * start_.back();
  for (size_t i = 0; i < positions; ++i) {
    probability[i] = static_cast<float>(start_[std::min(i, window_ + 1)] / sum);
  }
}

void Jumps::update(const JumpCounts& counts) {
  const size_t W = window_, right_tail = 2 * W + 2;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<double> slope(weights_.size() + 1);  // differences of the denominators
    double left_far = 0, right_far = 0;
    for (size_t I = 0; I < counts.departures.size(); ++I) {
      for (size_t i = 0; i < counts.departures[I].size(); ++i) {
        const double mass = counts.departures[I][i];
        const size_t left = i, right = I - i;
        const size_t from = 1 + W - std::min(left, W), to = 1 + W + std::min(right, W) + 1;
        double sum = sums_[to] - sums_[from];
        if (left > W) sum += static_cast<double>(left - W) * weights_.front();
        if (right > W) sum += static_cast<double>(right - W) * weights_.back();
        slope[from] += mass / sum;
        slope[to] -= mass / sum;
        if (left > W) left_far += static_cast<double>(left - W) * mass / sum;
        if (right > W) right_far += static_cast<double>(right - W) * mass / sum;
      }
    }
    double denominator = 0;
    const double prior_part = prior_ / sums_.back();
    for (size_t n = 0; n < weights_.size(); ++n) {
      denominator += slope[n];
      double all = std::max(denominator, 0.0) + prior_part;
      if (n == 0) all = left_far + prior_part;
      if (n == right_tail) all = right_far + prior_part;
      weights_[n] = (counts.jumps[n] + prior_ * base_[n]) / all;
    }
    std::vector<double> start_slope(start_.size() + 1);
    double far = 0;
    for (size_t I = 1; I < counts.starts.size(); ++I) {
      const size_t positions = I + 1;
      double sum = start_sums_[std::min(positions, W + 1)];
      if (positions > W + 1) sum += static_cast<double>(positions - W - 1) * start_.back();
      start_slope[std::min(positions, W + 1) - 1] += counts.starts[I] / sum;
      if (positions > W + 1) {
        far += static_cast<double>(positions - W - 1) * counts.starts[I] / sum;
      }
    }
    denominator = 0;
    const double start_prior_part = prior_ / start_sums_.back();
    for (size_t n = W + 1; n-- > 0;) {
      denominator += start_slope[n];
      start_[n] = (counts.start[n] + prior_ * start_base_[n]) / (denominator + start_prior_part);
    }
    start_[W + 1] = (counts.start[W + 1] + prior_ * start_base_[W + 1]) / (far + start_prior_part);
    refresh();
  }
}

double Jumps::log_prior() const {
  return prior_ * (dot_log(base_, weights_) + dot_log(start_base_, start_));
}

}  // namespace hopefear::align
