#include "rules/good_turing.hpp"

#include <algorithm>
#include <cmath>

namespace hopefear::rules {

GoodTuring::GoodTuring(const std::map<uint64_t, uint64_t>& counts) : counts_(counts) {
  std::vector<double> r, n;
  double total = 0;
  for (const auto& [count, types] : counts) {
    r.push_back(static_cast<double>(count));
    n.push_back(static_cast<double>(types));
    total += r.back() * n.back();
  }
  if (r.size() < 2) return;
  // Z_r = n_r / (half the distance of the neighbours), and its regression on r, in logs.
  double mean_x = 0, mean_y = 0;
  std::vector<double> x, y;
  for (size_t i = 0; i < r.size(); ++i) {
    const double before = i > 0 ? r[i - 1] : 0;
    const double behind = i + 1 < r.size() ? r[i + 1] : 2 * r[i] - before;
    x.push_back(std::log(r[i]));
    y.push_back(std::log(2 * n[i] / (behind - before)));
    mean_x += x.back();
    mean_y += y.back();
  }
  mean_x /= static_cast<double>(r.size());
  mean_y /= static_cast<double>(r.size());
  double covariance = 0, variance = 0;
  for (size_t i = 0; i < r.size(); ++i) {
    covariance += (x[i] - mean_x) * (y[i] - mean_y);
    variance += (x[i] - mean_x) * (x[i] - mean_x);
  }
  slope_ = variance > 0 ? covariance / variance : 0;
  intercept_ = mean_y - slope_ * mean_x;
  switch_at_ = counts.rbegin()->first;
  for (size_t i = 0; i < r.size(); ++i) {
    const auto count = static_cast<uint64_t>(r[i]);
    if (i + 1 == r.size() || r[i + 1] != r[i] + 1) {
      switch_at_ = count;
      break;
    }
    const double by_line = (r[i] + 1) * smoothed(count + 1) / smoothed(count);
    const double by_counts = (r[i] + 1) * n[i + 1] / n[i];
    const double deviation =
        std::sqrt((r[i] + 1) * (r[i] + 1) * (n[i + 1] / (n[i] * n[i])) * (1 + n[i + 1] / n[i]));
    if (std::abs(by_counts - by_line) <= 1.96 * deviation) {
      switch_at_ = count;
      break;
    }
  }
  double mass = 0;
  for (size_t i = 0; i < r.size(); ++i) mass += n[i] * estimate(static_cast<uint64_t>(r[i]));
  const double unseen = r[0] == 1 ? n[0] / total : 0;
  if (mass > 0 && unseen < 1) {
    scale_ = (1 - unseen) * total / mass;
  } else {
    switch_at_ = 0;  // every type was seen once: nothing is known about those seen more often
  }
}

double GoodTuring::smoothed(uint64_t r) const {
  return std::exp(intercept_ + slope_ * std::log(static_cast<double>(r)));
}

double GoodTuring::estimate(uint64_t r) const {
  const double next = static_cast<double>(r) + 1;
  if (r < switch_at_) {
    const auto here = counts_.find(r), behind = counts_.find(r + 1);
    if (here != counts_.end() && behind != counts_.end()) {
      return next * static_cast<double>(behind->second) / static_cast<double>(here->second);
    }
  }
  return next * smoothed(r + 1) / smoothed(r);
}

double GoodTuring::operator()(uint64_t r) const {
  const auto count = static_cast<double>(r);
  return switch_at_ == 0 ? count : std::min(count, scale_ * estimate(r));
}

}  // namespace hopefear::rules
