// Brown clusters: words that have the same neighbours, merged so that as much as possible of the
// mutual information of neighbouring clusters is kept.  [brown1992, liang2005]
//
// Words are added by descending frequency. The first C words are one cluster each; every further
// word starts a cluster, and then those two of the C + 1 clusters are merged that lose least.
// Finally the C clusters are merged down to one; the order of these mergers is a binary tree, and
// the path from its root to a cluster is the cluster's path, a string of 0 and 1.
//
// With n(a, b) the number of times that a word of cluster a precedes one of b, and f(x) =
// x ln x, the mutual information is, up to constants,
//
//   SUM f(n(a, b)) - SUM f(n(a, .)) - SUM f(n(., b))
//
// so that a merger of a and b changes a sum of terms h(x, y) = f(x + y) - f(x) - f(y), most of
// which are 0 because x or y is. This makes a step cheap: a rare word changes only the terms of its
// few neighbours, not those of all C^2 pairs.
//
// Differs from liang2005: the counts n(a, .) include only neighbours that have been added already,
// so that the sum above is the mutual information of a proper distribution at every step.
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
  uint64_t min_count;  // rarer words get no cluster
};

struct ClusteredWord {
  std::string word, path;
  uint64_t count;
};

struct BrownResult {
  std::vector<ClusteredWord> words;  // by path, then by falling count, then by word
  uint64_t sentences = 0, tokens = 0;
  size_t clusters = 0;       // fewer than requested if the text has fewer words
  double information = 0.0;  // mutual information of neighbouring clusters, in nats per pair
};

// Memory: the distinct pairs of neighbours, and 24 C^2 bytes. `progress` is called with the number
// of words added. Throws InputError, FileError, Interrupted.
BrownResult brown_clusters(std::span<ByteSource* const> texts, const BrownOptions& options,
                           const std::function<void(uint64_t)>& progress);

}  // namespace hopefear::text
