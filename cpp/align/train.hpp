// Trains an alignment model: Model 1, then the HMM, by expectation maximisation or, with a sparse
// Dirichlet prior, by variational Bayes [riley2012]: t(f | e) = exp(digamma(count + alpha) -
// digamma(sum + alpha K)), where K is the number of words that e occurs with. A rare word then
// cannot explain a whole sentence ("garbage collector") because many small counts are worth less
// than their sum.
//
// The result does not depend on the number of threads: sentences are processed in blocks; first the
// posteriors of every sentence are computed (by any thread), then they are added to the counts in
// the order of the sentences, with each thread owning some of the words.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "align/bitext.hpp"
#include "align/cooccurrence.hpp"
#include "align/model.hpp"

namespace hopefear::align {

struct TrainOptions {
  int model1_iterations;
  int hmm_iterations;
  double alpha;  // 0: plain EM
  HmmParameters parameters;
  double jump_prior;  // pseudo-jumps per word
  double jump_width;  // distance at which their weight is halved
  size_t window;
  std::array<bool, 2> directions;
  size_t threads;
};

// Statistics of the E-step of an iteration, i.e. of the weights before its M-step.
struct Iteration {
  bool hmm;
  int number;  // from 1 for each model
  std::array<double, 2> log_likelihood;
  // The variational bound, which never decreases within a model: log-likelihood minus the
  // divergence of the weights from their prior, plus the log prior of the jumps. NaN in the first
  // iteration of Model 1 with alpha > 0, since the uniform start is not a posterior.
  std::array<double, 2> bound;
};

class Trainer {
 public:
  // `bitext` must outlive the trainer and not be empty.
  Trainer(const Bitext& bitext, const TrainOptions& options);

  // Calls `on_iteration` after each one, and `progress` with the number of sentence pairs seen.
  void run(const std::function<void(const Iteration&)>& on_iteration,
           const std::function<void(uint64_t)>& progress);

  const Model& model() const { return model_; }
  const Bitext& bitext() const { return bitext_; }
  // Computes the emissions of a pair of the bitext, without look-ups. Thread-safe.
  void fill(size_t pair, PairEmissions& out) const;

 private:
  struct Counts {
    double forward, reverse;
  };
  struct Slot;  // the E-step's results for one sentence of the current block

  Iteration expect(bool hmm, int number);
  void gather(size_t pair, float* forward, float* reverse, float* empty_forward,
              float* empty_reverse) const;
  void add_counts(size_t first_pair, std::span<const Slot> slots, size_t shard, size_t shards);
  void maximise();

  const Bitext& bitext_;
  TrainOptions options_;
  Cooccurrence pairs_;
  Model model_;
  std::vector<Counts> counts_;
  std::array<std::vector<double>, 2> empty_counts_;
  std::array<JumpCounts, 2> jump_counts_;
  std::array<double, 2> divergence_;
  std::function<void(uint64_t)> progress_;
  uint64_t seen_ = 0;
};

}  // namespace hopefear::align
