#include "align/hmm.hpp"

#include <algorithm>
#include <cmath>

namespace hopefear::align {
namespace {

// Sum of a padded row: eight running sums, the same order on every machine.
float row_sum(const float* x, size_t size) {
  float lanes[kLane] = {};
  for (size_t n = 0; n < size; n += kLane) {
    for (size_t l = 0; l < kLane; ++l) lanes[l] += x[n + l];
  }
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// Adds logarithms by multiplying: one call of log for many factors.
class LogSum {
 public:
  void add(double factor) {
    product_ *= factor;
    if (product_ < 1e-250 || product_ > 1e250) flush();
  }
  double value() {
    flush();
    return sum_;
  }

 private:
  void flush() {
    sum_ += std::log(product_);
    product_ = 1;
  }
  double sum_ = 0, product_ = 1;
};

float* room(std::vector<float>& buffer, size_t size) {
  if (buffer.size() < size) buffer.resize(size);
  return buffer.data();
}

// The weights of one sentence length; the shares of a real word, (1 - p0), and of a jump by its
// distance, (1 - uniform), are in them.
struct Transitions {
  float* inverse;     // 1 / normaliser of each position, padding zero
  float* normaliser;  // the reciprocal of that, padding zero
  float* first;       // p(first = i), padding zero
  float first_end;    // p(there is no word at all)
  float* end;         // weight of the jump from each position to the end, padding zero
  float anywhere;     // of each position by a jump that goes anywhere
  Transitions(const Jumps& jumps, const HmmParameters& parameters, size_t states,
              Scratch& scratch) {
    const size_t stride = padded(states);
    inverse = room(scratch.inverse, stride);
    normaliser = room(scratch.normaliser, stride);
    first = room(scratch.first, stride + 1);
    end = room(scratch.end, stride);
    jumps.normalisers(states, {inverse, states});
    jumps.first(states, {first, states + 1});
    const double real = 1 - parameters.p0;
    anywhere = static_cast<float>(real * parameters.uniform / static_cast<double>(states + 1));
    const auto share = static_cast<float>(real * (1 - parameters.uniform));
    first_end = first[states] * share;
    for (size_t i = 0; i < states; ++i) {
      inverse[i] *= share;
      normaliser[i] = 1 / inverse[i];
      first[i] *= share;
      end[i] = states - i > jumps.window() ? jumps.right_tail() : jumps.forward()[states - i];
    }
    for (float* row : {inverse, normaliser, first, end})
      std::fill(row + states, row + stride, 0.0F);
  }
};

// Adds what lies beyond the window: out[i] += below * sum of x before i - window + above * sum of x
// after i + window.
void add_tails(const float* x, size_t n, size_t window, float below, float above, float* out) {
  double sum = 0;
  for (size_t i = window + 1; i < n; ++i) {
    sum += x[i - window - 1];
    out[i] += below * static_cast<float>(sum);
  }
  sum = 0;
  for (size_t i = n - window - 1; i-- > 0;) {
    sum += x[i + window + 1];
    out[i] += above * static_cast<float>(sum);
  }
}

constexpr float kGone = 1e-30F;  // below this the chance that no real word has been used is over

}  // namespace

void SentenceJumps::add_to(JumpCounts& counts, size_t window) const {
  counts.reserve_length(states);
  const auto I = static_cast<ptrdiff_t>(states);
  const auto W = static_cast<ptrdiff_t>(window);
  const ptrdiff_t reach = std::min(I - 1, W);
  for (ptrdiff_t d = -reach; d <= std::min(I, W); ++d) {
    counts.jumps[static_cast<size_t>(d + W + 1)] += centre()[d];
  }
  counts.jumps.front() += left_tail();
  counts.jumps.back() += right_tail();
  double starts = 0;
  for (size_t i = 0; i <= states; ++i) {
    counts.start[std::min(i, window + 1)] += start()[i];
    starts += start()[i];
  }
  for (size_t i = 0; i < states; ++i) counts.departures[states][i] += departures()[i];
  counts.starts[states] += starts;
}

double model1_posteriors(double p0, const Emissions& pair, float* posterior,
                         float* empty_posterior) {
  const size_t stride = pair.stride();
  const float share = static_cast<float>((1 - p0) / static_cast<double>(pair.states));
  LogSum total;
  for (size_t j = 0; j < pair.observations; ++j) {
    const float* word = pair.word + j * stride;
    const float empty = static_cast<float>(p0) * pair.empty[j];
    const float sum = share * row_sum(word, stride) + empty;
    total.add(sum);
    const float factor = share / sum;
    float* out = posterior + j * stride;
    for (size_t i = 0; i < stride; ++i) out[i] = word[i] * factor;
    empty_posterior[j] = empty / sum;
  }
  return total.value();
}

double hmm_posteriors(const Jumps& jumps, const HmmParameters& parameters, const Emissions& pair,
                      Scratch& scratch, float* posterior, float* empty_posterior,
                      const SentenceJumps* expected) {
  const size_t I = pair.states, J = pair.observations, P = pair.stride();
  const size_t window = std::min(jumps.window(), I);
  const bool tails = I > window + 1;
  const Kernels& kernel = kernels();
  const Transitions step(jumps, parameters, I, scratch);
  const auto p0 = static_cast<float>(parameters.p0);
  float* reached = room(scratch.reached, J * P);  // sum of ways to jump to i at j, unscaled
  float* left = room(scratch.left, J * P);        // mass at i' after j, times `inverse`
  float* mass = room(scratch.mass, P);
  if (scratch.scale.size() < 2 * J) scratch.scale.resize(2 * J);
  double* scale = scratch.scale.data();          // 1 / Z_j
  double* not_begun = scratch.scale.data() + J;  // chance that all words up to j are from nowhere

  LogSum total;
  double started_not = 1;
  for (size_t j = 0; j < J; ++j) {
    float* here = reached + j * P;
    const float* word = pair.word + j * P;
    const float empty = p0 * pair.empty[j];
    if (j == 0) {
      for (size_t i = 0; i < P; ++i) {
        here[i] = step.first[i] + step.anywhere;
        mass[i] = here[i] * word[i];
      }
    } else {
      const float* before = left + (j - 1) * P;
      kernel.convolve(jumps.forward(), before, I, window, here);
      if (tails) add_tails(before, I, window, jumps.right_tail(), jumps.left_tail(), here);
      if (started_not > 0) {
        const auto s = static_cast<float>(started_not);
        for (size_t i = 0; i < P; ++i) here[i] += step.first[i] * s;
      }
      for (size_t i = 0; i < P; ++i) {
        here[i] += step.anywhere;  // times all the mass before, which is 1
        mass[i] = here[i] * word[i] + empty * mass[i];
      }
    }
    started_not *= empty;
    const double sum = static_cast<double>(row_sum(mass, P)) + started_not;
    total.add(sum);
    scale[j] = 1 / sum;
    started_not /= sum;
    if (started_not < kGone) started_not = 0;
    not_begun[j] = started_not;
    const auto inverse_sum = static_cast<float>(1 / sum);
    float* out = left + j * P;
    for (size_t i = 0; i < P; ++i) {
      mass[i] *= inverse_sum;
      out[i] = mass[i] * step.inverse[i];
    }
  }
  // The last jump goes to the end: by its distance, or as one that goes anywhere.
  double ends = started_not * (static_cast<double>(step.first_end) + step.anywhere);
  for (size_t i = 0; i < I; ++i) {
    ends += left[(J - 1) * P + i] * step.end[i] + mass[i] * step.anywhere;
  }
  total.add(ends);

  float* right = room(scratch.right, J * P);  // emission times what follows, scaled
  float* beta = room(scratch.beta, P);
  float* product = room(scratch.product, P);
  if (expected != nullptr) {
    std::fill(expected->values, expected->values + SentenceJumps::size(I), 0.0F);
    for (size_t i = 0; i < I; ++i) {
      const float jump = left[(J - 1) * P + i] * step.end[i] * static_cast<float>(1 / ends);
      (I - i > jumps.window() ? expected->right_tail() : expected->centre()[I - i]) += jump;
      expected->departures()[i] += jump;
    }
    expected->start()[I] += static_cast<float>(started_not / ends) * step.first_end;
  }
  const auto end_factor = static_cast<float>(1 / ends);
  double begin_beta = (static_cast<double>(step.first_end) + step.anywhere) / ends;
  for (size_t i = 0; i < P; ++i) {
    beta[i] = (step.inverse[i] * step.end[i] + step.anywhere) * end_factor;
  }
  for (size_t j = J; j-- > 0;) {
    const auto factor = static_cast<float>(scale[j]);
    const float empty = p0 * pair.empty[j] * factor;  // before it is overwritten
    const float* word = pair.word + j * P;
    const float* here = reached + j * P;
    float* emitted = right + j * P;
    float* out = posterior + j * P;
    for (size_t i = 0; i < P; ++i) {
      emitted[i] = word[i] * beta[i] * factor;
      out[i] = here[i] * emitted[i];
    }
    std::fill(out + I, out + P, 0.0F);
    // From the empty word: mass before times what follows. Not one minus the others' sum, whose
    // rounding would be all that is left of a small one; the prior makes much of small counts.
    double from_empty = begin_beta * (j == 0 ? 1 : not_begun[j - 1]);
    if (j > 0) {
      const float* before = left + (j - 1) * P;
      for (size_t i = 0; i < P; ++i) product[i] = before[i] * beta[i] * step.normaliser[i];
      from_empty += row_sum(product, P);
    }
    empty_posterior[j] = static_cast<float>(std::min(1.0, empty * from_empty));
    if (expected != nullptr && (j == 0 || not_begun[j - 1] > 0)) {
      const auto s = static_cast<float>(j == 0 ? 1 : not_begun[j - 1]);
      for (size_t i = 0; i < I; ++i) expected->start()[i] += step.first[i] * s * emitted[i];
    }
    if (j == 0) break;
    kernel.convolve(jumps.backward(), emitted, I, window, product);
    if (tails) add_tails(emitted, I, window, jumps.left_tail(), jumps.right_tail(), product);
    if (expected != nullptr) {
      const float* before = left + (j - 1) * P;
      for (size_t i = 0; i < I; ++i) expected->departures()[i] += before[i] * product[i];
      if (tails) {
        double sum = 0, below = 0, above = 0;
        for (size_t i = window + 1; i < I; ++i) {
          sum += before[i - window - 1];
          above += sum * emitted[i];
        }
        sum = 0;
        for (size_t i = I - window - 1; i-- > 0;) {
          sum += before[i + window + 1];
          below += sum * emitted[i];
        }
        expected->right_tail() += static_cast<float>(above) * jumps.right_tail();
        expected->left_tail() += static_cast<float>(below) * jumps.left_tail();
      }
    }
    const float from_anywhere = step.anywhere * row_sum(emitted, P);
    begin_beta = from_anywhere + empty * begin_beta;
    for (size_t i = 0; i < I; ++i) begin_beta += step.first[i] * emitted[i];
    for (size_t i = 0; i < P; ++i) {
      beta[i] = step.inverse[i] * product[i] + from_anywhere + empty * beta[i];
    }
  }
  if (expected != nullptr && J > 1) {
    const size_t margin = P + kLane;
    float* counts = room(scratch.counts, 2 * margin + 1 + kLane);
    std::fill(counts, counts + 2 * margin + 1 + kLane, 0.0F);
    kernel.correlate(left, right + P, J - 1, P, I, window, counts + margin);
    const auto reach = static_cast<ptrdiff_t>(std::min(I - 1, window));
    for (ptrdiff_t d = -reach; d <= reach; ++d) {
      expected->centre()[d] += counts[static_cast<ptrdiff_t>(margin) + d] * jumps.forward()[d];
    }
  }
  return total.value();
}

}  // namespace hopefear::align
