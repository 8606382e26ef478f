#include "align/train.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/threads.hpp"

namespace hopefear::align {
namespace {

constexpr size_t kBlockCells = size_t{1} << 16;  // counts are this many cells old at most
constexpr size_t kAhead = 24;                    // entries are prefetched this far ahead
constexpr size_t kGroup = 8;                     // sentences per task, which share a scratch

Jumps initial_jumps(size_t words, const TrainOptions& options) {
  return Jumps(options.window, options.jump_prior * static_cast<double>(words), options.jump_width);
}

// The expected number of words without a link, of those with this many expected links.
float unlinked(uint32_t links) {
  const float sum = static_cast<float>(links) * kLinkUnit;
  return std::max(0.0F, 1 - sum);
}

}  // namespace

struct Trainer::Slot {
  Link* links;  // the new ones
  std::array<SentenceJumps, 2> jumps;
  std::array<double, 2> log_likelihood;
  // By source word, by target word: how the sum of links changes and the number without a link.
  std::array<float*, 2> linked, unlinked;
  std::array<FertilityDistribution*, 2> fertilities;
};

struct Trainer::Block {
  std::vector<Slot> slots;
  std::vector<Link> links;
  std::vector<float> floats;
  std::vector<FertilityDistribution> fertilities;

  // Allocates the slots of the pairs from `first` and returns the pair after the last.
  size_t allocate(const Bitext& bitext, size_t first) {
    slots.clear();
    size_t last = first, cells = 0, words = 0, jumps = 0;
    const auto size = [&](size_t pair) {
      return std::pair(bitext.source_sentence(pair).size(), bitext.target_sentence(pair).size());
    };
    do {
      const auto [I, J] = size(last);
      cells += I * J;
      words += I + J;
      jumps += SentenceJumps::size(I) + SentenceJumps::size(J);
      ++last;
    } while (last < bitext.size() && cells < kBlockCells);
    if (links.size() < cells) links.resize(cells);
    if (floats.size() < 2 * words + jumps) floats.resize(2 * words + jumps);
    fertilities.assign(words, {});
    Link* link = links.data();
    float* next = floats.data();
    FertilityDistribution* fertility = fertilities.data();
    for (size_t pair = first; pair < last; ++pair) {
      const auto [I, J] = size(pair);
      const auto take = [&](size_t n) { return std::exchange(next, next + n); };
      Slot& slot = slots.emplace_back();
      slot.links = std::exchange(link, link + I * J);
      slot.jumps = {SentenceJumps{I, take(SentenceJumps::size(I))},
                    SentenceJumps{J, take(SentenceJumps::size(J))}};
      slot.linked = {take(I), take(J)};
      slot.unlinked = {take(I), take(J)};
      slot.fertilities[0] = std::exchange(fertility, fertility + I);
      slot.fertilities[1] = std::exchange(fertility, fertility + J);
    }
    return last;
  }
};

struct Trainer::Sums {
  std::array<JumpCounts, 2> jumps;
  std::array<Fertilities::Counts, 2> fertilities;
};

Trainer::Trainer(const Bitext& bitext, const TrainOptions& options)
    : bitext_(bitext),
      options_(options),
      pairs_(find_cooccurrences(bitext, options.threads)),
      model_({initial_jumps(bitext.target_words.size(), options),
              initial_jumps(bitext.source_words.size(), options)},
             bitext.source.size(), bitext.target.size()),
      links_(pairs_.cells.size()) {
  model_.source.add(bitext.source);
  model_.target.add(bitext.target);
  model_.rows = std::move(pairs_.rows);
  model_.columns = std::move(pairs_.columns);
  model_.counts.resize(model_.columns.size());
  model_.parameters = options.parameters;
  model_.kind = options.kind;
  model_.alpha = options.alpha;
  model_.similar = options.similar;
  if (options.similar == 0) return;
  const Similarity similarity(model_.source, model_.target, options.similar);
  const size_t V = model_.source.size();
  parallel_for(V, options.threads, [&](size_t s) {
    const std::span<const uint32_t> row(model_.columns.data() + model_.rows[s],
                                        model_.columns.data() + model_.rows[s + 1]);
    similarity.pseudo_links(static_cast<uint32_t>(s), row, model_.counts.data() + model_.rows[s]);
  });
  for (size_t s = 0; s < V; ++s) {
    for (uint64_t n = model_.rows[s]; n < model_.rows[s + 1]; ++n) {
      model_.totals[0][s] += model_.counts[n];
      model_.totals[1][model_.columns[n]] += model_.counts[n];
    }
  }
}

void Trainer::run(const std::function<void(const Iteration&)>& on_iteration,
                  const std::function<void(uint64_t)>& progress) {
  progress_ = progress;
  const int hmm = options_.kind == Kind::model1 ? 0 : options_.hmm_iterations;
  for (int n = 1; n <= options_.model1_iterations; ++n) on_iteration(iterate(false, n));
  for (int n = 1; n <= hmm; ++n) on_iteration(iterate(true, n));
}

void Trainer::fill(size_t pair, PairEmissions& out) const {
  const auto source = bitext_.source_sentence(pair), target = bitext_.target_sentence(pair);
  const uint64_t first = pairs_.cell_begin[pair], last = pairs_.cell_begin[pair + 1];
  const uint32_t* cells = pairs_.cells.data();
  const uint64_t end = pairs_.cells.size() - 1;
  std::vector<float>& count = out.count;
  count.resize(last - first);
  for (uint64_t c = first; c < last; ++c) {
    __builtin_prefetch(&model_.counts[cells[std::min(c + kAhead, end)]]);
    count[c - first] = model_.counts[cells[c]];
  }
  const Link* links = counted_ ? links_.data() + first : nullptr;
  model_.emissions(source, target, count.data(), links, out);
}

void Trainer::infer(size_t pair, Slot& slot, Scratch& scratch, PairEmissions& emissions) const {
  fill(pair, emissions);
  for (const int d : {0, 1}) {
    const auto k = static_cast<size_t>(d);
    slot.log_likelihood[k] = model_.infer(d, scratch, emissions, &slot.jumps[k]);
  }
  agree(model_.kind, emissions, slot.links);

  const size_t I = emissions.I, J = emissions.J;
  const Link* before = links_.data() + pairs_.cell_begin[pair];
  const auto note = [&](size_t side, size_t words, size_t step, size_t others, size_t other_step) {
    for (size_t w = 0; w < words; ++w) {
      uint32_t sum = 0, sum_before = 0;
      FertilityDistribution& fertility = slot.fertilities[side][w];
      for (size_t o = 0; o < others; ++o) {
        const size_t cell = w * step + o * other_step;
        sum += slot.links[cell];
        sum_before += before[cell];
        if (options_.kind == Kind::fertility) fertility.add_link(to_probability(slot.links[cell]));
      }
      slot.linked[side][w] = (static_cast<float>(sum) - static_cast<float>(sum_before)) * kLinkUnit;
      slot.unlinked[side][w] = unlinked(sum) - (counted_ ? unlinked(sum_before) : 0);
    }
  };
  note(0, I, J, J, 1);
  note(1, J, 1, I, J);
}

Iteration Trainer::iterate(bool hmm, int number) {
  model_.kind = hmm ? options_.kind : Kind::model1;
  Iteration result = {hmm, number, {0, 0}};
  Sums sums = {{JumpCounts(options_.window), JumpCounts(options_.window)}, {}};
  if (options_.kind == Kind::fertility) {
    sums.fertilities = {Fertilities::Counts(model_.source.size()),
                        Fertilities::Counts(model_.target.size())};
  }
  Block block;
  for (size_t first = 0; first < bitext_.size();) {
    const size_t last = block.allocate(bitext_, first);
    std::vector<Slot>& slots = block.slots;
    parallel_for((slots.size() + kGroup - 1) / kGroup, options_.threads, [&](size_t group) {
      Scratch scratch;
      PairEmissions emissions;
      const size_t end = std::min(slots.size(), (group + 1) * kGroup);
      for (size_t n = group * kGroup; n < end; ++n) infer(first + n, slots[n], scratch, emissions);
    });
    const size_t shards = std::max<size_t>(1, options_.threads);
    parallel_for(shards, options_.threads,
                 [&](size_t shard) { count(first, slots, shard, shards, sums); });
    for (size_t n = 0; n < slots.size(); ++n) {
      const Slot& slot = slots[n];
      for (size_t d = 0; d < 2; ++d) {
        result.log_likelihood[d] += slot.log_likelihood[d];
        if (hmm) slot.jumps[d].add_to(sums.jumps[d], options_.window);
        // Direction d generates the words of the other side.
        const size_t words = slot.jumps[1 - d].states;
        for (size_t w = 0; w < words; ++w) model_.empty_total[d] += slot.unlinked[1 - d][w];
      }
    }
    seen_ += slots.size();
    progress_(seen_);
    first = last;
  }
  counted_ = true;
  for (size_t d = 0; d < 2; ++d) {
    if (hmm) model_.jumps[d].update(sums.jumps[d]);
    if (options_.kind == Kind::fertility) {
      model_.fertilities[d].update(sums.fertilities[d], options_.fertility_prior);
    }
  }
  model_.kind = options_.kind;
  return result;
}

void Trainer::count(size_t first_pair, std::span<const Slot> slots, size_t shard, size_t shards,
                    Sums& sums) {
  const uint32_t* last = pairs_.cells.data() + pairs_.cells.size() - 1;
  const bool with_fertilities = options_.kind == Kind::fertility;
  for (size_t n = 0; n < slots.size(); ++n) {
    const Slot& slot = slots[n];
    const auto source = bitext_.source_sentence(first_pair + n);
    const auto target = bitext_.target_sentence(first_pair + n);
    const size_t I = source.size(), J = target.size();
    const std::span<const uint32_t> sentences[2] = {source, target};
    for (size_t side = 0; side < 2; ++side) {
      for (size_t w = 0; w < sentences[side].size(); ++w) {
        const uint32_t word = sentences[side][w];
        if (word % shards != shard) continue;
        model_.totals[side][word] += slot.linked[side][w];
        model_.empty[1 - side][word] += slot.unlinked[side][w];
        if (!with_fertilities) continue;
        const auto& values = slot.fertilities[side][w].values();
        for (size_t k = 0; k < kFertilities; ++k) sums.fertilities[side][word][k] += values[k];
      }
    }
    const uint32_t* cell = pairs_.cells.data() + pairs_.cell_begin[first_pair + n];
    Link* before = links_.data() + pairs_.cell_begin[first_pair + n];
    for (size_t i = 0; i < I; ++i, cell += J, before += J) {
      if (source[i] % shards != shard) continue;
      const Link* now = slot.links + i * J;
      for (size_t j = 0; j < J; ++j) {
        __builtin_prefetch(&model_.counts[*std::min(cell + j + kAhead, last)], 1);
        if (now[j] == before[j]) continue;
        model_.counts[cell[j]] += to_probability(now[j]) - to_probability(before[j]);
        before[j] = now[j];
      }
    }
  }
}

}  // namespace hopefear::align
