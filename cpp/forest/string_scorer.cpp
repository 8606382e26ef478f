#include "forest/string_scorer.hpp"

#include <algorithm>
#include <cstring>
#include <map>

namespace hopefear {

StringScorer::StringScorer(const Forest& forest, std::span<const int32_t> target, bool others)
    : forest_(forest), target_(target.begin(), target.end()), others_(others) {
  build();
}

// Blumer et al.'s construction, online from left to right; O(length log length).
void StringScorer::build() {
  constexpr uint32_t kNone = 0xffffffff;
  std::vector<uint32_t> length = {0}, suffix = {kNone};
  std::vector<std::map<int32_t, uint32_t>> next(1);
  end_ = {0};
  uint32_t last = 0;
  const auto add = [&](uint32_t state_length, uint32_t end) {
    length.push_back(state_length);
    suffix.push_back(0);
    next.emplace_back();
    end_.push_back(end);
    return static_cast<uint32_t>(length.size() - 1);
  };
  for (uint32_t i = 0; i < target_.size(); ++i) {
    const int32_t word = target_[i];
    const uint32_t made = add(length[last] + 1, i + 1);
    uint32_t p = last;
    for (; p != kNone && !next[p].contains(word); p = suffix[p]) next[p][word] = made;
    if (p != kNone) {
      const uint32_t q = next[p][word];
      if (length[p] + 1 == length[q]) {
        suffix[made] = q;
      } else {
        const uint32_t copy = add(length[p] + 1, end_[q]);
        next[copy] = next[q];
        suffix[copy] = suffix[q];
        for (; p != kNone && next[p].contains(word) && next[p][word] == q; p = suffix[p]) {
          next[p][word] = copy;
        }
        suffix[q] = suffix[made] = copy;
      }
    }
    last = made;
  }
  first_link_ = {0};
  for (uint32_t s = 0; s < next.size(); ++s) {
    for (const auto& [word, to] : next[s]) links_.push_back({word, to});
    first_link_.push_back(static_cast<uint32_t>(links_.size()));
  }
}

uint32_t StringScorer::step(uint32_t from, int32_t word) const {
  const auto end = links_.begin() + first_link_[from + 1];
  const auto found =
      std::lower_bound(links_.begin() + first_link_[from], end, word,
                       [](const Link& link, int32_t wanted) { return link.word < wanted; });
  return found != end && found->word == word ? found->to : 0;
}

StringScorer::Place StringScorer::place(const std::byte* state) {
  Place at;
  std::memcpy(&at, state, sizeof at);
  return at;
}

double StringScorer::score(uint32_t edge, std::span<const std::byte* const> tails,
                           std::byte* state) {
  uint32_t at = 0, length = 0;
  bool inside = true;
  const auto read = [&](int32_t word) {
    at = step(at, word);
    inside = at != 0;
    ++length;
    return inside;
  };
  for (const int32_t symbol : forest_.target(edge)) {
    if (symbol >= 0) {
      if (!read(symbol)) break;
      continue;
    }
    const Place part = place(tails[static_cast<size_t>(-1 - symbol)]);
    inside = part != kElsewhere;
    for (uint32_t i = 0; inside && i < part.length; ++i) read(target_[part.begin + i]);
    if (!inside) break;
  }
  if (!inside && !others_) return kNever;
  const Place found = inside ? Place{end_[at] - length, length} : kElsewhere;
  std::memcpy(state, &found, sizeof found);
  return 0;
}

}  // namespace hopefear
