#include "decode/coverage.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace hopefear::decode {
namespace {

uint64_t hash_of_word(int32_t word) { return mix64(static_cast<uint64_t>(word) + 1); }

}  // namespace

CoverageTable::CoverageTable(int32_t length, const SpanTable* spans)
    : spans_(spans),
      length_(length),
      width_(std::max<size_t>(1, (static_cast<size_t>(length) + 63) / 64)),
      bits_(width_, 0) {
  info_.push_back({0, 0, 0, 0, 0});
  complete(kNothing);
  numbers_.insert(0, [](uint32_t) { return false; });
}

uint32_t CoverageTable::extend(uint32_t set, int32_t begin, int32_t end) {
  Info made = info_[set];
  // The sum of its words' hashes, so that it does not depend on the order of covering.
  for (int32_t w = begin; w < end; ++w) made.hash += hash_of_word(w);
  made.count += end - begin;
  made.end = std::max(made.end, end);
  const size_t from = bits_.size();
  bits_.resize(from + width_);
  std::copy_n(bits_.begin() + static_cast<ptrdiff_t>(size_t{set} * width_), width_,
              bits_.begin() + static_cast<ptrdiff_t>(from));
  for (int32_t w = begin; w < end; ++w) {
    bits_[from + static_cast<size_t>(w) / 64] |= uint64_t{1} << (w % 64);
  }
  const auto [number, is_new] = numbers_.insert(made.hash, [&](uint32_t other) {
    return info_[other].hash == made.hash &&
           std::equal(bits(other), bits(other) + width_,
                      bits_.begin() + static_cast<ptrdiff_t>(from));
  });
  if (!is_new) {
    bits_.resize(from);
    return number;
  }
  info_.push_back(made);
  complete(number);
  return number;
}

void CoverageTable::complete(uint32_t set) {
  Info& info = info_[set];
  while (info.first_gap < info.end && covered(set, info.first_gap)) ++info.first_gap;
  info.rest = 0;
  if (spans_ == nullptr) return;
  for (int32_t w = info.first_gap; w < info.end;) {
    if (covered(set, w)) {
      ++w;
      continue;
    }
    const int32_t end = gap_end(set, w);
    info.rest += spans_->score(w, end);
    w = end;
  }
  if (info.end < length_) info.rest += spans_->score(info.end, length_);
}

}  // namespace hopefear::decode
