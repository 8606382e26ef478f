// Brown clusters: words that have the same neighbours, merged so that as much as possible of the
// mutual information of neighbouring clusters is kept.  [brown1992, liang2005]
//
// The words come in by frequency. The first C are a cluster each; every further word makes a
// cluster of its own, and then the two clusters of the C + 1 whose merger loses least become one.
// At last the C clusters are merged down to one; the order of these mergers is a binary tree, and
// the way from its root to a cluster is the cluster's path, a string of 0 and 1.
//
// With n(a, b) the number of times that a word of cluster a stands before one of b, and f(x) =
// x ln x, the mutual information is, up to constants,
//
//   SUM f(n(a, b)) - SUM f(n(a, .)) - SUM f(n(., b))
//
// so that a merger of a and b changes a sum of terms h(x, y) = f(x + y) - f(x) - f(y), most of
// which are 0 because x or y is. That makes a step cheap: what a rare word changes is where its few
// neighbours are, not all C^2 pairs.
//
// Differs from liang2005: the counts n(a, .) are of neighbours that have come in already, so that
// the sum above is the mutual information of a proper distribution at every step.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/io.hpp"

namespace hopefear::text {

struct BrownOptions {
  size_t clusters;     // C, at least 1
  uint64_t min_count;  // rarer words have no cluster
};

struct ClusteredWord {
  std::string word, path;
  uint64_t count;
};

struct BrownResult {
  std::vector<ClusteredWord> words;  // by path, then by falling count, then by word
  uint64_t sentences = 0, tokens = 0;
  size_t clusters = 0;       // fewer than asked for if the text has fewer words
  double information = 0.0;  // mutual information of neighbouring clusters, in nats per pair
};

// Memory: the distinct pairs of neighbours, and 24 C^2 bytes. `progress` is told the words that
// have come in. Throws InputError, FileError, Interrupted.
BrownResult brown_clusters(std::span<ByteSource* const> texts, const BrownOptions& options,
                           const std::function<void(uint64_t)>& progress);

}  // namespace hopefear::text
