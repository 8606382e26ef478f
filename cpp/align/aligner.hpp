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
  double posterior;  // > 0: all links with at least this posterior; 0: the best of each word
  size_t threads;
};

struct AlignReport {
  uint64_t pairs = 0, links = 0;
  uint64_t source_words = 0, target_words = 0;
  uint64_t unaligned_source = 0, unaligned_target = 0;
};

// Computes the emissions of pair k; called by any thread.
using FillPair = std::function<void(size_t k, Scratch& scratch, PairEmissions& out)>;

// Writes one line per line of the bitext's files; a skipped line gives an empty line.
AlignReport align_text(const Model& model, const Bitext& bitext, const FillPair& fill,
                       const AlignOptions& options, ByteSink& out,
                       const std::function<void(uint64_t)>& progress);

}  // namespace hopefear::align
