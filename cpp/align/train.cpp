#include "align/train.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "align/special.hpp"
#include "base/error.hpp"
#include "base/threads.hpp"

namespace hopefear::align {
namespace {

constexpr size_t kBlockCells = size_t{1} << 18;  // posteriors of a block: about 2 MB
constexpr size_t kAhead = 24;                    // entries are prefetched this far ahead
constexpr size_t kRowChunks = 128;               // of the M-step

// One word's distribution: from counts to weights, and what its divergence from the prior is.
// E log t = digamma(alpha + count) - digamma(alpha K + total).
class Dirichlet {
 public:
  Dirichlet(double alpha, double total, double outcomes)
      : alpha_(alpha), total_(total), outcomes_(outcomes) {
    if (alpha > 0) sum_ = gamma_functions(total + alpha * outcomes);
  }

  // The divergence of the whole but for its entries' parts.
  double divergence() const {
    if (alpha_ == 0) return 0;
    return sum_.log_gamma - gamma_functions(alpha_ * outcomes_).log_gamma - total_ * sum_.digamma;
  }

  // The weight of an entry; its part of the divergence is added to `divergence`.
  float entry(double count, double alpha_log_gamma, double& divergence) const {
    if (alpha_ == 0) {
      const double t = total_ > 0 ? count / total_ : 1 / outcomes_;
      return std::max(static_cast<float>(t), kFloor);
    }
    const double x = count + alpha_;
    if (count < 1e-4 * alpha_) {
      // Most entries after a few iterations. log_gamma(alpha) - log_gamma(x) + count digamma(x) is
      // count^2 / 2 trigamma(alpha) then, and trigamma(alpha) = 1 / alpha^2 + 1.6... for small
      // ones.
      const double trigamma = 1 / (alpha_ * alpha_) + 1.0 / (alpha_ + 0.6);
      divergence += 0.5 * count * count * trigamma;
      // digamma(x) < -1 / x + x, so this is a bound of the weight.
      if (x < 0.5 && x - 1 / x - sum_.digamma < kLogFloor) return kFloor;
      return weight(gamma_functions(x).digamma);
    }
    const GammaPair value = gamma_functions(x);
    divergence += alpha_log_gamma - value.log_gamma + count * value.digamma;
    return weight(value.digamma);
  }

 private:
  float weight(double digamma) const {
    const double log_weight = digamma - sum_.digamma;
    return log_weight < kLogFloor ? kFloor : static_cast<float>(std::exp(log_weight));
  }
  static constexpr double kLogFloor = -23.025850929940457;  // of kFloor
  double alpha_, total_, outcomes_;
  GammaPair sum_ = {0, 0};
};

Jumps initial_jumps(size_t words, const TrainOptions& options) {
  return Jumps(options.window, options.jump_prior * static_cast<double>(words), options.jump_width);
}

}  // namespace

struct Trainer::Slot {
  std::array<float*, 2> posterior, empty;
  std::array<SentenceJumps, 2> jumps;
  std::array<double, 2> log_likelihood;
};

Trainer::Trainer(const Bitext& bitext, const TrainOptions& options)
    : bitext_(bitext),
      options_(options),
      pairs_(find_cooccurrences(bitext, options.threads)),
      model_({initial_jumps(bitext.target_words.size(), options),
              initial_jumps(bitext.source_words.size(), options)}),
      jump_counts_{JumpCounts(options.window), JumpCounts(options.window)} {
  model_.source.add(bitext.source);
  model_.target.add(bitext.target);
  model_.rows = std::move(pairs_.rows);
  model_.columns = std::move(pairs_.columns);
  model_.parameters = options.parameters;
  model_.trained = options.directions;
  model_.hmm = options.hmm_iterations > 0;

  // The uniform start.
  model_.weights.resize(model_.columns.size());
  for (size_t s = 0; s < model_.source.size(); ++s) {
    const float uniform = 1 / static_cast<float>(model_.rows[s + 1] - model_.rows[s]);
    for (uint64_t n = model_.rows[s]; n < model_.rows[s + 1]; ++n) {
      model_.weights[n] = {uniform, 1 / static_cast<float>(pairs_.column_sizes[model_.columns[n]])};
    }
  }
  const size_t words[2] = {bitext.target.size(), bitext.source.size()};
  for (size_t d = 0; d < 2; ++d) {
    model_.empty[d].assign(words[d], 1 / static_cast<float>(words[d]));
  }
  divergence_.fill(options.alpha > 0 ? std::numeric_limits<double>::quiet_NaN() : 0);
}

void Trainer::run(const std::function<void(const Iteration&)>& on_iteration,
                  const std::function<void(uint64_t)>& progress) {
  progress_ = progress;
  for (int n = 1; n <= options_.model1_iterations + options_.hmm_iterations; ++n) {
    const bool hmm = n > options_.model1_iterations;
    on_iteration(expect(hmm, hmm ? n - options_.model1_iterations : n));
    maximise();
    if (!hmm) continue;
    for (size_t d = 0; d < 2; ++d) {
      if (options_.directions[d]) model_.jumps[d].update(jump_counts_[d]);
    }
  }
  counts_ = {};
}

void Trainer::gather(size_t pair, float* forward, float* reverse, float* empty_forward,
                     float* empty_reverse) const {
  const auto f = bitext_.source_sentence(pair), e = bitext_.target_sentence(pair);
  const size_t I = f.size(), J = e.size(), stride0 = padded(I), stride1 = padded(J);
  const uint32_t* cell = pairs_.cells.data() + pairs_.cell_begin[pair];
  const uint32_t* last = pairs_.cells.data() + pairs_.cells.size() - 1;
  const Weight* weights = model_.weights.data();
  for (size_t i = 0; i < I; ++i) {
    float* row = reverse + i * stride1;
    for (size_t j = 0; j < J; ++j, ++cell) {
      __builtin_prefetch(weights + *std::min(cell + kAhead, last));
      const Weight w = weights[*cell];
      forward[j * stride0 + i] = w.forward;
      row[j] = w.reverse;
    }
    std::fill(row + J, row + stride1, 0.0F);
    empty_reverse[i] = model_.empty[1][f[i]];
  }
  for (size_t j = 0; j < J; ++j) {
    std::fill(forward + j * stride0 + I, forward + (j + 1) * stride0, 0.0F);
    empty_forward[j] = model_.empty[0][e[j]];
  }
}

void Trainer::fill(size_t pair, PairEmissions& out) const {
  out.resize(bitext_.source_sentence(pair).size(), bitext_.target_sentence(pair).size());
  gather(pair, out.word[0].data(), out.word[1].data(), out.empty[0].data(), out.empty[1].data());
}

Iteration Trainer::expect(bool hmm, int number) {
  counts_.assign(model_.columns.size(), {0, 0});
  for (size_t d = 0; d < 2; ++d) {
    empty_counts_[d].assign(model_.empty[d].size(), 0);
    jump_counts_[d] = JumpCounts(options_.window);
  }
  Iteration result = {hmm, number, {0, 0}, divergence_};

  std::vector<float> buffer;
  std::vector<Slot> slots;
  for (size_t first = 0; first < bitext_.size();) {
    // A block: its end, and its memory cut up among its sentences.
    size_t last = first, floats = 0;
    const auto sizes = [&](size_t pair) {
      const size_t I = bitext_.source_sentence(pair).size();
      const size_t J = bitext_.target_sentence(pair).size();
      return std::array<size_t, 6>{J * padded(I),          I * padded(J),         J, I,
                                   SentenceJumps::size(I), SentenceJumps::size(J)};
    };
    do {
      for (const size_t n : sizes(last)) floats += n;
      ++last;
    } while (last < bitext_.size() && floats < 2 * kBlockCells);
    if (buffer.size() < floats) buffer.resize(floats);
    slots.resize(last - first);
    float* next = buffer.data();
    for (size_t pair = first; pair < last; ++pair) {
      const auto size = sizes(pair);
      const auto take = [&](size_t n) { return std::exchange(next, next + n); };
      Slot& slot = slots[pair - first];
      slot.posterior = {take(size[0]), take(size[1])};
      slot.empty = {take(size[2]), take(size[3])};
      slot.jumps = {SentenceJumps{bitext_.source_sentence(pair).size(), take(size[4])},
                    SentenceJumps{bitext_.target_sentence(pair).size(), take(size[5])}};
    }

    constexpr size_t kGroup = 16;  // sentences per task, which share a scratch
    parallel_for((slots.size() + kGroup - 1) / kGroup, options_.threads, [&](size_t group) {
      Scratch scratch;
      const size_t end = std::min(slots.size(), (group + 1) * kGroup);
      for (size_t n = group * kGroup; n < end; ++n) {
        Slot& slot = slots[n];
        gather(first + n, slot.posterior[0], slot.posterior[1], slot.empty[0], slot.empty[1]);
        for (size_t d = 0; d < 2; ++d) {
          if (!options_.directions[d]) continue;
          const Emissions pair = {slot.jumps[d].states, slot.jumps[1 - d].states, slot.posterior[d],
                                  slot.empty[d]};
          slot.log_likelihood[d] =
              hmm ? hmm_posteriors(model_.jumps[d], options_.parameters, pair, scratch,
                                   slot.posterior[d], slot.empty[d], &slot.jumps[d])
                  : model1_posteriors(options_.parameters.p0, pair, slot.posterior[d],
                                      slot.empty[d]);
        }
      }
    });
    const size_t shards = std::max<size_t>(1, options_.threads);
    parallel_for(shards, options_.threads,
                 [&](size_t shard) { add_counts(first, slots, shard, shards); });
    for (const Slot& slot : slots) {
      for (size_t d = 0; d < 2; ++d) {
        if (!options_.directions[d]) continue;
        result.log_likelihood[d] += slot.log_likelihood[d];
        if (hmm) slot.jumps[d].add_to(jump_counts_[d], options_.window);
      }
    }
    seen_ += slots.size();
    progress_(seen_);
    first = last;
  }
  for (size_t d = 0; d < 2; ++d) {
    result.bound[d] = result.log_likelihood[d] - divergence_[d];
    if (hmm) result.bound[d] += model_.jumps[d].log_prior();
  }
  return result;
}

void Trainer::add_counts(size_t first_pair, std::span<const Slot> slots, size_t shard,
                         size_t shards) {
  const auto [with_forward, with_reverse] = options_.directions;
  const uint32_t* last = pairs_.cells.data() + pairs_.cells.size() - 1;
  for (size_t n = 0; n < slots.size(); ++n) {
    const Slot& slot = slots[n];
    const auto f = bitext_.source_sentence(first_pair + n);
    const auto e = bitext_.target_sentence(first_pair + n);
    const size_t I = f.size(), J = e.size(), stride0 = padded(I), stride1 = padded(J);
    for (size_t i = 0; i < I; ++i) {
      if (f[i] % shards != shard) continue;
      const uint32_t* cell = pairs_.cells.data() + pairs_.cell_begin[first_pair + n] + i * J;
      const float* forward = slot.posterior[0] + i;
      const float* reverse = slot.posterior[1] + i * stride1;
      for (size_t j = 0; j < J; ++j) {
        __builtin_prefetch(&counts_[*std::min(cell + j + kAhead, last)], 1);
        Counts& count = counts_[cell[j]];
        count.forward += forward[j * stride0];
        count.reverse += reverse[j];
      }
      if (with_reverse) empty_counts_[1][f[i]] += slot.empty[1][i];
    }
    if (!with_forward) continue;
    for (size_t j = 0; j < J; ++j) {
      if (e[j] % shards == shard) empty_counts_[0][e[j]] += slot.empty[0][j];
    }
  }
}

void Trainer::maximise() {
  const double alpha = options_.alpha;
  const double alpha_log_gamma = alpha > 0 ? gamma_functions(alpha).log_gamma : 0;
  const auto [with_forward, with_reverse] = options_.directions;

  // The reverse distributions run down the columns: their sums first.
  std::vector<double> totals(model_.target.size());
  for (size_t n = 0; n < counts_.size(); ++n) totals[model_.columns[n]] += counts_[n].reverse;
  std::vector<Dirichlet> reverse;
  reverse.reserve(totals.size());
  for (size_t t = 0; t < totals.size(); ++t) {
    reverse.emplace_back(alpha, totals[t], pairs_.column_sizes[t]);
  }

  std::vector<std::array<double, 2>> divergence(kRowChunks);
  const size_t V = model_.source.size();
  parallel_for(kRowChunks, options_.threads, [&](size_t chunk) {
    std::array<double, 2>& sum = divergence[chunk];
    for (size_t s = chunk; s < V; s += kRowChunks) {
      const uint64_t first = model_.rows[s], last = model_.rows[s + 1];
      double total = 0;
      for (uint64_t n = first; n < last; ++n) total += counts_[n].forward;
      const Dirichlet forward(alpha, total, static_cast<double>(last - first));
      if (with_forward) sum[0] += forward.divergence();
      for (uint64_t n = first; n < last; ++n) {
        if (with_forward) {
          model_.weights[n].forward = forward.entry(counts_[n].forward, alpha_log_gamma, sum[0]);
        }
        if (with_reverse) {
          model_.weights[n].reverse =
              reverse[model_.columns[n]].entry(counts_[n].reverse, alpha_log_gamma, sum[1]);
        }
      }
    }
  });
  divergence_ = {0, 0};
  for (const auto& sum : divergence) {
    divergence_[0] += sum[0];
    divergence_[1] += sum[1];
  }
  if (with_reverse) {
    for (const Dirichlet& word : reverse) divergence_[1] += word.divergence();
  }
  for (size_t d = 0; d < 2; ++d) {
    if (!options_.directions[d]) continue;
    double total = 0;
    for (const double count : empty_counts_[d]) total += count;
    const Dirichlet word(alpha, total, static_cast<double>(empty_counts_[d].size()));
    divergence_[d] += word.divergence();
    for (size_t n = 0; n < empty_counts_[d].size(); ++n) {
      model_.empty[d][n] = word.entry(empty_counts_[d][n], alpha_log_gamma, divergence_[d]);
    }
  }
}

}  // namespace hopefear::align
