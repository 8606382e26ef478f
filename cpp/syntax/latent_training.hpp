// Learns a latent-annotation grammar from trees: split, merge and smooth. [petrov2006]
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "syntax/latent_grammar.hpp"
#include "syntax/tree.hpp"

namespace hopefear::syntax {

struct TrainingOptions {
  double merge_share;     // of the splits, those of least loss are undone
  double rule_smoothing;  // weight of the mean over the substates of a parent
  double word_smoothing;  // the same for words
  uint64_t seed;          // of the noise that makes halves differ
  size_t threads;         // does not change the result
  Binarisation binarisation;
  bool lowercase;
  uint32_t rare;  // words seen at most so often give the counts of signatures
  double prior;   // weight of the signature in the counts of a word
};

class LatentTraining {
 public:
  explicit LatentTraining(const TrainingOptions& options);
  ~LatentTraining();
  // A tree as read; `labels` and `words` are its numbers' names. It is normalised and binarised.
  // Returns whether it has words. Add all trees before the first step.
  bool add(const Tree& tree, WordNumbers& labels, const WordNumbers& words);
  // The trees' relative frequencies: a grammar without substates.
  void begin();
  // One iteration of EM; the log-likelihood of the trees before it.
  double iterate();
  void split();
  // Undoes a share of the last split; returns the number of merged pairs.
  size_t merge();
  void smooth();

  const LatentGrammar& grammar() const;
  size_t trees() const;
  // The likelihood of each tree by the current grammar, as logs; for tests.
  std::vector<double> likelihoods() const;
  // The likelihood of one of the trees by enumeration of all substates; for tests.
  double enumerated(size_t tree) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hopefear::syntax
