// From adjusted counts to interpolated probabilities and back-off weights, order by order.
//
//   den(h)   = sum over w of a(h w)                                    [pruned ones included]
//   gamma(h) = (sum over kept w of D(a(h w)) + sum over pruned w of a(h w)) / den(h)
//   p(w | h) = (a(h w) - D(a(h w))) / den(h) + gamma(h) * p(w | h without its first word)
//
// with D(a) the discount of a(h w)'s order, and 1 / |V| below the unigrams.  [chen1998]
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lm/estimate_adjust.hpp"
#include "lm/estimate_storage.hpp"

namespace hopefear::lm::estimation {

// Linear domain, in the order of the entries; pruned entries have values too (nobody asks).
struct OrderValues {
  explicit OrderValues(ChunkPool& pool) : probability(pool), gamma(pool) {}
  Column<float> probability;
  Column<float> gamma;  // as a context; 1 for those that are none; empty for the highest order
};

// `entries[k - 1]` are the entries of order k. The workspace is used for sorting. Every order costs
// two sorts of 16 bytes per entry.
std::vector<OrderValues> interpolate(std::span<const Column<Entry>> entries,
                                     std::span<const OrderSummary> summaries,
                                     const Pages& workspace, ChunkPool& pool, size_t threads,
                                     Disk& disk);

}  // namespace hopefear::lm::estimation
