// Aligns a text with a model that was trained on it or on another text.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "align/model.hpp"
#include "align/symmetrise.hpp"
#include "base/io.hpp"

namespace hopefear::align {

struct AlignOptions {
  std::optional<Symmetrisation> symmetrise;
  int direction;     // 0: forward, 1: reverse; used without symmetrisation
  double posterior;  // > 0: all links with at least this posterior; 0: the best path
  size_t threads;
};

struct AlignReport {
  uint64_t pairs = 0, links = 0;
  uint64_t source_words = 0, target_words = 0;
  uint64_t unaligned_source = 0, unaligned_target = 0;
};

// Computes the emissions of pair k; called by any thread.
using FillPair = std::function<void(size_t k, PairEmissions& out)>;

// Writes one line per line of the bitext's files; a skipped line gives an empty line.
AlignReport align_text(const Model& model, const Bitext& bitext, const FillPair& fill,
                       const AlignOptions& options, ByteSink& out,
                       const std::function<void(uint64_t)>& progress);

// One pair, one direction: p(observation j comes from state i) at words[j * stride + i], from the
// empty word at empty[j]. Returns the log-likelihood.
double posteriors(const Model& model, int direction, const PairEmissions& pair, Scratch& scratch,
                  std::vector<float>& words, std::vector<float>& empty);

}  // namespace hopefear::align
