#include "decode/phrase_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/interrupt.hpp"
#include "decode/open_bin.hpp"

namespace hopefear::decode {

// A span of uncovered words and its options.
struct PhraseSearch::Span {
  int32_t begin, end;
  int32_t gap_begin, gap_end;
  OptionTable::Range options;
};

// Nodes of a bin with the same covered words.
struct PhraseSearch::Group {
  uint32_t coverage;
  uint32_t begin, end;  // in members_
};

// A grid: the nodes of a group that may be extended by a span, times the options of the span.
struct PhraseSearch::Cube {
  double best;         // score of the best row
  double rest;         // future cost of the words left uncovered
  uint32_t group;      // the group of the rows
  int32_t begin, end;  // the span
  OptionTable::Range options;
  int32_t covered;       // by the group
  uint32_t orientation;  // of the best row
  // Made when the first cell is popped, which happens for few cubes.
  uint32_t coverage = 0;
  uint32_t rows = 0, row_count = 0;
};

// A node to be extended by a span: its score, including distortion and forward reordering.
struct PhraseSearch::Row {
  double score;
  uint32_t index;  // in its bin
  uint32_t orientation;
};

struct PhraseSearch::Cell {
  float key;
  uint32_t cube, row, option;  // option: counted from the first of the span
  bool operator<(const Cell& other) const { return key < other.key; }
};

PhraseSearch::PhraseSearch(const PhraseModel& model, const PhraseWeights& weights,
                           const OptionTable& options, const SpanTable& spans,
                           const SearchLimits& limits, bool scores)
    : model_(model),
      weights_(weights),
      sink_(weights.memo(), nullptr, nullptr),
      options_(options),
      spans_(spans),
      limits_(limits),
      distortion_{limits.distortion},
      length_(options.length()),
      lms_(model.lms().size()),
      state_size_(model.state_size()),
      scores_(scores && !model.stateful().empty()),
      coverage_(length_, &spans),
      bins_(static_cast<size_t>(length_) + 1),
      open_(static_cast<size_t>(length_) + 1),
      cubes_(static_cast<size_t>(length_) + 1),
      state_(state_size_),
      values_(lms_ + scores_) {}

PhraseSearch::~PhraseSearch() = default;

void PhraseSearch::run() {
  start();
  for (int32_t covered = 0; covered <= length_; ++covered) {
    poll_interrupt();
    if (covered > 0) {
      if (!limits_.stack) take_cells(covered);
      close(covered);
    }
    if (covered == length_) break;
    if (limits_.stack) {
      expand_all(covered);
    } else {
      make_cubes(covered);
    }
  }
}

void PhraseSearch::start() {
  const features::Distortion& distortion = model_.dense().distortion;
  for (int32_t width = 0; width <= (distortion.early ? 2 : 1) * length_; ++width) {
    features::WeightedSum sum{weights_.dense()};
    distortion.add(width, sum);
    jump_scores_.push_back(sum.score);
  }
  SearchBin& bin = bins_.front();
  const double rest = coverage_.rest(CoverageTable::kNothing);
  bin.nodes.push_back({0, rest, CoverageTable::kNothing, 0, 0, 0});
  bin.states.resize(state_size_);
  model_.begin(bin.states.data());
  bin.edges_begin = {0, 0};
}

void PhraseSearch::close(int32_t covered) {
  const auto i = static_cast<size_t>(covered);
  if (open_[i] != nullptr) bins_[i] = open_[i]->close(limits_);
  if (bins_[i].edges_begin.empty()) bins_[i].edges_begin = {0};
  open_[i].reset();
  const size_t first = bins_[i - 1].first + bins_[i - 1].nodes.size();
  if (first + bins_[i].nodes.size() >= 0xffffffffu) {
    throw InputError("search made 2^32 nodes; lower the beam");
  }
  bins_[i].first = static_cast<uint32_t>(first);
}

// Calls f(span) for every span that may come next, regardless of the last phrase.
template <typename F>
void PhraseSearch::for_spans(uint32_t coverage, F&& f) const {
  const int32_t gap = coverage_.first_gap(coverage);
  Span span{gap, gap, gap, gap, {}};
  for (; span.begin < length_; ++span.begin) {
    const int32_t last = distortion_.farthest(gap, span.begin, length_);
    if (span.begin >= last) break;
    if (coverage_.covered(coverage, span.begin)) continue;
    if (span.begin >= span.gap_end) {
      span.gap_begin = span.begin;
      span.gap_end = coverage_.gap_end(coverage, span.begin);
    }
    const int32_t farthest = std::min({span.gap_end, last, span.begin + options_.longest()});
    for (span.end = span.begin + 1; span.end <= farthest; ++span.end) {
      span.options = options_.at(span.begin, span.end);
      if (!span.options.empty()) f(span);
    }
  }
}

// The future cost of the words left when a span is covered too.
double PhraseSearch::rest_after(uint32_t coverage, const Span& span) const {
  double rest = coverage_.rest(coverage) - spans_.score(span.gap_begin, span.gap_end);
  if (span.gap_begin < span.begin) rest += spans_.score(span.gap_begin, span.begin);
  if (span.end < span.gap_end) rest += spans_.score(span.end, span.gap_end);
  return rest;
}

// Distortion, and the forward reordering score of the last phrase.
double PhraseSearch::jump_score(const SearchNode& last, int32_t begin, int32_t end) const {
  const int32_t width =
      model_.dense().distortion.width(last.end, coverage_.first_gap(last.coverage), begin, end);
  return jump_scores_[static_cast<size_t>(width)] +
         options_.weighted_forward(last.forward)[orientation(last, begin, end)];
}

// Extends node `index` of a bin by an option. `with_jump`: its score, including distortion and
// reordering.
void PhraseSearch::evaluate(const SearchBin& from, uint32_t index, double with_jump,
                            uint32_t option, uint32_t coverage, OpenBin& into) {
  const PhraseOption& o = options_.option(option);
  const std::byte* tail = from.states.data() + index * state_size_;
  features::ScoredValues sum{weights_.dense(), values_.data(), with_jump + o.row};
  for (size_t l = 0; l < lms_; ++l) {
    lm::State context = features::LanguageModel::context_in(tail, l);
    model_.lms()[l].step(context, options_.lm_phrase(option, l), sum);
    features::LanguageModel::put_context(context, state_.data(), l);
  }
  double score = sum.score;
  if (!model_.stateful().empty()) {
    const double fired = step_templates(option, tail);
    score += fired;
    if (scores_) values_[lms_] = static_cast<float>(fired);
    if (!std::isfinite(score)) {
      throw InputError("a feature template fired a value that is not finite; correct the template");
    }
  }
  const NodeKey key{coverage, o.forward, model_.dense().reordering.state(o.begin), o.end,
                    state_.data()};
  into.add(key, o.begin, score, score + coverage_.rest(coverage), {from.first + index, option},
           values_.data());
}

// Returns the score of the stateful templates for an option after the state `tail`, and writes
// their states to state_.
double PhraseSearch::step_templates(uint32_t option, const std::byte* tail) {
  const size_t begin = model_.stateful().front().offset, size = state_size_ - begin;
  const std::string_view before(reinterpret_cast<const char*>(tail) + begin, size);
  const uint64_t key = combine64(hash64(before), option);
  if (steps_.size() >= kMostSteps) {
    steps_.clear();
    after_steps_.clear();
  }
  const auto [step, is_new] = steps_.try_emplace(key == 0 ? 1 : key);
  if (!is_new) {
    std::memcpy(state_.data() + begin, after_steps_.data() + step.after, size);
    return step.score;
  }
  sink_.reset();
  options_.step_templates(options_.option(option), tail, sink_, state_.data());
  step = {sink_.score(), static_cast<uint32_t>(after_steps_.size())};
  const auto* const after = state_.data() + begin;
  after_steps_.insert(after_steps_.end(), after, after + size);
  return step.score;
}

// Fills groups_ with the nodes of a bin.
void PhraseSearch::make_groups(const SearchBin& bin) {
  groups_here_ = groups_.size();
  group_of_.resize(coverage_.size(), kNoGroup);
  // Two passes over the nodes: sizes, then offsets. Groups are in the order of their best nodes.
  for (const SearchNode& node : bin.nodes) {
    uint32_t& group = group_of_[node.coverage];
    if (group == kNoGroup) {
      group = static_cast<uint32_t>(groups_.size());
      groups_.push_back({node.coverage, 0, 0});
    }
    ++groups_[group].end;
  }
  auto place = static_cast<uint32_t>(members_.size());
  for (size_t g = groups_here_; g < groups_.size(); ++g) {
    const uint32_t size = groups_[g].end;
    groups_[g].begin = groups_[g].end = place;
    place += size;
  }
  members_.resize(place);
  for (uint32_t i = 0; i < bin.nodes.size(); ++i) {
    members_[groups_[group_of_[bin.nodes[i].coverage]].end++] = i;
  }
  for (size_t g = groups_here_; g < groups_.size(); ++g) {
    group_of_[groups_[g].coverage] = kNoGroup;
  }
}

OpenBin& PhraseSearch::open(int32_t covered) {
  auto& bin = open_[static_cast<size_t>(covered)];
  if (bin == nullptr) bin = std::make_unique<OpenBin>(state_size_, values_.size());
  return *bin;
}

void PhraseSearch::expand_all(int32_t covered) {
  const SearchBin& bin = bins_[static_cast<size_t>(covered)];
  // Room for several beams before a bin is thinned out: sorting is then a small part of the work.
  const size_t full = 4 * size_t{limits_.beam} + 1000;
  make_groups(bin);
  for (size_t g = groups_here_; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    for_spans(group.coverage, [&](const Span& span) {
      const uint32_t coverage = coverage_.extend(group.coverage, span.begin, span.end);
      OpenBin& into = open(covered + span.end - span.begin);
      for (uint32_t m = group.begin; m < group.end; ++m) {
        const SearchNode& node = bin.nodes[members_[m]];
        if (!distortion_.may_jump(node.end, span.begin)) continue;
        const double score = node.score + jump_score(node, span.begin, span.end);
        const size_t o = orientation(node, span.begin, span.end);
        for (uint32_t option = span.options.begin; option < span.options.end; ++option) {
          evaluate(bin, members_[m], score + options_.option(option).backward[o], option, coverage,
                   into);
        }
        if (into.size() > full) into.shrink(limits_.beam);
        if ((++ticks_ & 255) == 0) poll_interrupt();
      }
    });
  }
}

void PhraseSearch::make_cubes(int32_t covered) {
  const SearchBin& bin = bins_[static_cast<size_t>(covered)];
  constexpr double kNoRow = -std::numeric_limits<double>::infinity();
  make_groups(bin);
  for (size_t g = groups_here_; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    for_spans(group.coverage, [&](const Span& span) {
      Cube cube;
      cube.best = kNoRow;
      for (uint32_t m = group.begin; m < group.end; ++m) {
        const SearchNode& node = bin.nodes[members_[m]];
        if (!distortion_.may_jump(node.end, span.begin)) continue;
        const double score = node.score + jump_score(node, span.begin, span.end);
        if (score > cube.best) {
          cube.best = score;
          cube.orientation = static_cast<uint32_t>(orientation(node, span.begin, span.end));
        }
      }
      if (cube.best == kNoRow) return;
      cube.rest = rest_after(group.coverage, span);
      cube.group = static_cast<uint32_t>(g);
      cube.begin = span.begin;
      cube.end = span.end;
      cube.options = span.options;
      cube.covered = covered;
      cubes_[static_cast<size_t>(covered + span.end - span.begin)].push_back(cube);
    });
    if ((++ticks_ & 15) == 0) poll_interrupt();
  }
}

// Makes the rows of a cube, best first; ties: the better node first.
void PhraseSearch::make_rows(Cube& cube) {
  const SearchBin& bin = bins_[static_cast<size_t>(cube.covered)];
  const Group& group = groups_[cube.group];
  cube.coverage = coverage_.extend(group.coverage, cube.begin, cube.end);
  cube.rows = static_cast<uint32_t>(rows_.size());
  for (uint32_t m = group.begin; m < group.end; ++m) {
    const SearchNode& node = bin.nodes[members_[m]];
    if (!distortion_.may_jump(node.end, cube.begin)) continue;
    rows_.push_back({node.score + jump_score(node, cube.begin, cube.end), members_[m],
                     static_cast<uint32_t>(orientation(node, cube.begin, cube.end))});
  }
  cube.row_count = static_cast<uint32_t>(rows_.size()) - cube.rows;
  std::sort(rows_.begin() + cube.rows, rows_.end(), [](const Row& a, const Row& b) {
    return a.score != b.score ? a.score > b.score : a.index < b.index;
  });
}

void PhraseSearch::queue_cell(const Cube& cube, uint32_t number, double row_score,
                              uint32_t orientation, uint32_t row, uint32_t option) {
  const PhraseOption& o = options_.option(cube.options.begin + option);
  const double key = row_score + o.estimate + o.backward[orientation] + cube.rest;
  queue_.push_back({static_cast<float>(key), number, row, option});
}

void PhraseSearch::take_cells(int32_t covered) {
  std::vector<Cube>& cubes = cubes_[static_cast<size_t>(covered)];
  OpenBin& into = open(covered);
  queue_.clear();
  rows_.clear();
  for (uint32_t c = 0; c < cubes.size(); ++c) {
    queue_cell(cubes[c], c, cubes[c].best, cubes[c].orientation, 0, 0);
  }
  std::make_heap(queue_.begin(), queue_.end());
  for (uint32_t taken = 0; taken < limits_.pop_limit && !queue_.empty(); ++taken) {
    std::pop_heap(queue_.begin(), queue_.end());
    const Cell cell = queue_.back();
    queue_.pop_back();
    Cube& cube = cubes[cell.cube];
    if (cube.row_count == 0) make_rows(cube);
    const Row& row = rows_[cube.rows + cell.row];
    const uint32_t option = cube.options.begin + cell.option;
    evaluate(bins_[static_cast<size_t>(cube.covered)], row.index,
             row.score + options_.option(option).backward[row.orientation], option, cube.coverage,
             into);
    // Every cell is reached in one way: along the first column, then along its row.
    if (option + 1 < cube.options.end) {
      queue_cell(cube, cell.cube, row.score, row.orientation, cell.row, cell.option + 1);
      std::push_heap(queue_.begin(), queue_.end());
    }
    if (cell.option == 0 && cell.row + 1 < cube.row_count) {
      const Row& next = rows_[cube.rows + cell.row + 1];
      queue_cell(cube, cell.cube, next.score, next.orientation, cell.row + 1, 0);
      std::push_heap(queue_.begin(), queue_.end());
    }
    if ((++ticks_ & 4095) == 0) poll_interrupt();
  }
  std::vector<Cube>().swap(cubes);
}

}  // namespace hopefear::decode
