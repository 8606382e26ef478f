#include "decode/forced_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace hopefear::decode {
namespace {

using Node = ReferenceTrie::Node;

// Closes a bin without pruning: all scores are 0, so the order is that of insertion.
constexpr SearchLimits kNoLimits = {true, std::numeric_limits<uint32_t>::max(), 1, 0, -1};

}  // namespace

ForcedSearch::ForcedSearch(const PhraseModel& model, const OptionTable& options,
                           const ReferenceTrie& trie, DistortionRule distortion,
                           uint64_t most_nodes)
    : model_(model),
      options_(options),
      trie_(trie),
      distortion_(distortion),
      most_nodes_(most_nodes),
      length_(options.length()),
      lms_(model.lms().size()),
      place_at_(model.state_size()),
      state_size_(place_at_ + sizeof(Node)),
      sink_(no_weights_),
      coverage_(length_, nullptr),
      lm_states_(trie.size() * lms_),
      lm_sums_(trie.size() * lms_),
      state_(state_size_),
      values_(lms_) {
  for (size_t l = 0; l < lms_; ++l) {
    const lm::Model& lm = *model.lms()[l].model;
    lm_states_[l] = lm.begin();
    for (Node place = 1; place < trie.size(); ++place) {
      const size_t before = trie.parent(place) * lms_ + l, here = place * lms_ + l;
      const lm::WordId word = lm.find(options.vocabulary()->word(trie.word(place)));
      lm_sums_[here] =
          lm_sums_[before] + lm.look_up(lm_states_[before], word, lm_states_[here]).log10;
    }
  }
}

ForcedSearch::Outcome ForcedSearch::run() {
  prefix_ = false;
  match_options();
  find_needed();
  const std::span<const uint64_t> needed(needed_.data(), coverage_.words(0).size());
  if (std::any_of(needed.begin(), needed.end(), [](uint64_t word) { return word != 0; })) {
    return Outcome::kNone;
  }
  const Outcome outcome = fill();
  if (outcome != Outcome::kFound) return outcome;
  const SearchBin& last = bins_.back();
  for (uint32_t i = 0; i < last.nodes.size(); ++i) {
    if (!is_end(last, i)) continue;  // only of an empty sentence
    keep_complete();
    return Outcome::kFound;
  }
  return Outcome::kNone;
}

ForcedSearch::Outcome ForcedSearch::run_prefix(int32_t shortest) {
  prefix_ = true;
  match_options();
  find_needed();
  const Outcome outcome = fill();
  if (outcome != Outcome::kFound) return outcome;
  while (source_words() >= std::max(shortest, 1)) {
    const SearchBin& last = bins_.back();
    for (uint32_t i = 0; i < last.nodes.size(); ++i) {
      if (!is_end(last, i)) continue;
      keep_complete();
      return Outcome::kFound;
    }
    bins_.pop_back();
  }
  return Outcome::kNone;
}

SearchGraph ForcedSearch::graph() const { return {bins_, coverage_, state_size_, !prefix_}; }

int32_t ForcedSearch::target_words() const {
  uint32_t longest = 0;
  const SearchBin& last = bins_.back();
  for (uint32_t i = 0; i < last.nodes.size(); ++i) {
    longest = std::max(longest, trie_.depth(place_of(last, i)));
  }
  return static_cast<int32_t>(longest);
}

// Finds the options that lead from each position to another, for positions that sequences of
// phrases reach from the beginning and, unless prefixes are allowed, from which they reach the end,
// regardless of coverage.
void ForcedSearch::match_options() {
  std::vector<std::pair<int32_t, uint32_t>> by_word;  // first word and option
  for (uint32_t o = 0; o < options_.size(); ++o) {
    const std::span<const int32_t> words = options_.target(options_.option(o));
    by_word.push_back({words.empty() ? -1 : words.front(), o});
  }
  std::sort(by_word.begin(), by_word.end());
  std::vector<char> reached(trie_.size(), 0), useful(trie_.size(), 0);
  std::vector<Match> all;
  std::vector<uint32_t> all_begin = {0};
  const auto match = [&](Node place, int32_t word) {
    auto it = std::lower_bound(by_word.begin(), by_word.end(), std::pair{word, uint32_t{0}});
    for (; it != by_word.end() && it->first == word; ++it) {
      const Node to = trie_.walk(place, options_.target(options_.option(it->second)));
      if (to == ReferenceTrie::kNoNode) continue;
      all.push_back({it->second, to});
      reached[to] = 1;
    }
  };
  reached[ReferenceTrie::kRoot] = 1;
  for (Node place = 0; place < trie_.size(); ++place) {
    if (reached[place] != 0) {
      match(place, -1);  // phrases with an empty target side
      for (Node next = place + 1; next < trie_.end(place); next = trie_.end(next)) {
        match(place, trie_.word(next));
      }
    }
    all_begin.push_back(static_cast<uint32_t>(all.size()));
  }
  for (Node place = trie_.size(); place-- > 0;) {
    useful[place] = prefix_ || trie_.complete(place);
    for (uint32_t m = all_begin[place]; m < all_begin[place + 1]; ++m) {
      useful[place] |= useful[all[m].to];
    }
  }
  matches_.clear();
  matches_begin_ = {0};
  for (Node place = 0; place < trie_.size(); ++place) {
    for (uint32_t m = all_begin[place]; m < all_begin[place + 1]; ++m) {
      if (useful[all[m].to] != 0) matches_.push_back(all[m]);
    }
    matches_begin_.push_back(static_cast<uint32_t>(matches_.size()));
  }
}

void ForcedSearch::find_needed() {
  const size_t width = coverage_.words(0).size();
  // First the words that some phrase translates from a position on, then their complement.
  needed_.assign(trie_.size() * width, 0);
  for (Node place = trie_.size(); place-- > 0;) {
    uint64_t* const own = needed_.data() + place * width;
    for (uint32_t m = matches_begin_[place]; m < matches_begin_[place + 1]; ++m) {
      const PhraseOption& o = options_.option(matches_[m].option);
      for (int32_t w = o.begin; w < o.end; ++w) {
        own[static_cast<size_t>(w) / 64] |= uint64_t{1} << (w % 64);
      }
    }
    if (place == ReferenceTrie::kRoot) continue;
    uint64_t* const before = needed_.data() + trie_.parent(place) * width;
    for (size_t i = 0; i < width; ++i) before[i] |= own[i];
  }
  for (size_t i = 0; i < needed_.size(); ++i) {
    const int32_t words = length_ - static_cast<int32_t>(i % width) * 64;
    const uint64_t all = words >= 64 ? ~uint64_t{0} : (uint64_t{1} << words) - 1;
    needed_[i] = ~needed_[i] & all;
  }
}

ForcedSearch::Outcome ForcedSearch::fill() {
  const auto bins = static_cast<size_t>(length_) + 1;
  bins_.assign(bins, {});
  open_.clear();
  open_.resize(bins);
  SearchBin& start = bins_.front();
  start.nodes.push_back({0, 0, CoverageTable::kNothing, 0, 0, 0});
  start.states.resize(state_size_);
  model_.begin(start.states.data());
  start.edges_begin = {0, 0};
  ++made_;
  for (size_t i = 0; i < bins; ++i) {
    poll_interrupt();
    if (i > 0) {
      bins_[i].edges_begin = {0};
      if (open_[i] != nullptr) bins_[i] = open_[i]->close(kNoLimits);
      open_[i].reset();
      bins_[i].first = bins_[i - 1].first + static_cast<uint32_t>(bins_[i - 1].nodes.size());
    }
    if (!expand(static_cast<int32_t>(i))) return Outcome::kTooMany;
  }
  return Outcome::kFound;
}

// False if there were too many nodes.
bool ForcedSearch::expand(int32_t covered) {
  const SearchBin& bin = bins_[static_cast<size_t>(covered)];
  for (uint32_t i = 0; i < bin.nodes.size(); ++i) {
    if (i % 256 == 0) poll_interrupt();
    const SearchNode& node = bin.nodes[i];
    const Node place = place_of(bin, i);
    for (uint32_t m = matches_begin_[place]; m < matches_begin_[place + 1]; ++m) {
      const PhraseOption& o = options_.option(matches_[m].option);
      if (!distortion_.may_jump(node.end, o.begin) || !can_cover(node.coverage, o) ||
          !can_complete(node.coverage, o, matches_[m].to)) {
        continue;
      }
      std::unique_ptr<OpenBin>& into = open_[static_cast<size_t>(covered + o.end - o.begin)];
      if (into == nullptr) into = std::make_unique<OpenBin>(state_size_, lms_);
      const size_t before = into->size();
      evaluate(bin, i, matches_[m], *into);
      made_ += into->size() - before;
      if (made_ > most_nodes_) return false;
    }
  }
  return true;
}

bool ForcedSearch::can_cover(uint32_t coverage, const PhraseOption& o) const {
  const int32_t gap = coverage_.first_gap(coverage);
  if (o.begin < gap || o.end > distortion_.farthest(gap, o.begin, length_)) return false;
  for (int32_t w = o.begin; w < o.end; ++w) {
    if (coverage_.covered(coverage, w)) return false;
  }
  return true;
}

// Whether phrases remain for all words that must be covered after the option.
bool ForcedSearch::can_complete(uint32_t coverage, const PhraseOption& o, Node to) const {
  const std::span<const uint64_t> bits = coverage_.words(coverage);
  const uint64_t* const needed = needed_.data() + to * bits.size();
  // For a prefix only words in gaps must be covered.
  const int32_t end = prefix_ ? std::max(coverage_.end(coverage), o.end) : length_;
  for (size_t i = 0; i < bits.size() && static_cast<int32_t>(i) * 64 < end; ++i) {
    uint64_t missing = needed[i] & ~bits[i];
    for (; missing != 0; missing &= missing - 1) {
      const int32_t w = static_cast<int32_t>(i) * 64 + std::countr_zero(missing);
      if (w >= end) return true;
      if (w < o.begin || w >= o.end) return false;
    }
  }
  return prefix_ || coverage_.count(coverage) + o.end - o.begin < length_ || trie_.complete(to);
}

void ForcedSearch::evaluate(const SearchBin& from, uint32_t index, const Match& match,
                            OpenBin& into) {
  const PhraseOption& o = options_.option(match.option);
  const std::byte* const tail = from.states.data() + index * state_size_;
  const Node place = place_of(from, index);
  for (size_t l = 0; l < lms_; ++l) {
    const size_t before = place * lms_ + l, after = match.to * lms_ + l;
    model_.lms()[l].add(lm_sums_[after] - lm_sums_[before],
                        features::Recorder{[&](uint32_t, float value) { values_[l] = value; }});
    features::LanguageModel::put_context(lm_states_[after], state_.data(), l);
  }
  if (!model_.stateful().empty()) {
    sink_.reset();
    options_.step_templates(o, tail, sink_, state_.data());
    if (!std::isfinite(sink_.score())) {  // 0 times infinity is NaN
      throw InputError("a feature template fired a value that is not finite; correct the template");
    }
  }
  std::memcpy(state_.data() + place_at_, &match.to, sizeof match.to);
  const uint32_t coverage = coverage_.extend(from.nodes[index].coverage, o.begin, o.end);
  const NodeKey key{coverage, o.forward, model_.dense().reordering.state(o.begin), o.end,
                    state_.data()};
  into.add(key, o.begin, 0, 0, {from.first + index, match.option}, values_.data());
}

Node ForcedSearch::place_of(const SearchBin& bin, uint32_t index) const {
  Node place;
  std::memcpy(&place, bin.states.data() + index * state_size_ + place_at_, sizeof place);
  return place;
}

bool ForcedSearch::is_end(const SearchBin& bin, uint32_t index) const {
  const uint32_t coverage = bin.nodes[index].coverage;
  if (coverage_.first_gap(coverage) != coverage_.count(coverage)) return false;
  return prefix_ || trie_.complete(place_of(bin, index));
}

// Drops all nodes that do not lead to an end in the last bin, and renumbers the others.
void ForcedSearch::keep_complete() {
  std::vector<char> good(bins_.back().first + bins_.back().nodes.size(), 0);
  for (uint32_t i = 0; i < bins_.back().nodes.size(); ++i) {
    good[bins_.back().first + i] = is_end(bins_.back(), i);
  }
  for (size_t b = bins_.size(); b-- > 0;) {
    const SearchBin& bin = bins_[b];
    for (uint32_t i = 0; i < bin.nodes.size(); ++i) {
      if (good[bin.first + i] == 0) continue;
      for (uint32_t e = bin.edges_begin[i]; e < bin.edges_begin[i + 1]; ++e) {
        good[bin.edges[e].tail] = 1;
      }
    }
  }
  std::vector<uint32_t> numbers(good.size());
  uint32_t next = 0;
  for (size_t n = 0; n < good.size(); ++n) {
    numbers[n] = next;
    next += good[n] != 0 ? 1 : 0;
  }
  for (SearchBin& bin : bins_) {
    SearchBin kept;
    kept.first = bin.first < numbers.size() ? numbers[bin.first] : next;
    kept.edges_begin = {0};
    for (uint32_t i = 0; i < bin.nodes.size(); ++i) {
      if (good[bin.first + i] == 0) continue;
      kept.nodes.push_back(bin.nodes[i]);
      const auto state = bin.states.begin() + static_cast<ptrdiff_t>(i * state_size_);
      kept.states.insert(kept.states.end(), state, state + static_cast<ptrdiff_t>(state_size_));
      for (uint32_t e = bin.edges_begin[i]; e < bin.edges_begin[i + 1]; ++e) {
        kept.edges.push_back({numbers[bin.edges[e].tail], bin.edges[e].option});
        for (size_t l = 0; l < lms_; ++l) {
          kept.values.push_back(bin.values[e * lms_ + l]);
        }
      }
      kept.edges_begin.push_back(static_cast<uint32_t>(kept.edges.size()));
    }
    bin = std::move(kept);
  }
}

}  // namespace hopefear::decode
