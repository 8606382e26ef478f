#include "syntax/latent_training.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/interrupt.hpp"
#include "base/threads.hpp"

namespace hopefear::syntax {
namespace {

// Sums are taken over this many parts of the trees and added in order, so they do not depend on the
// number of threads.
constexpr size_t kParts = 4;
constexpr double kNoise = 0.01;
// Smaller probabilities are 0: EM drives many to the smallest numbers, with which arithmetic is
// slow.
constexpr double kLeast = 1e-30;
constexpr float kLeastSaved = 1e-12F;

enum class Made : uint8_t { word, unary, binary };

struct Node {  // of a training tree; children come before their parents
  uint32_t symbol;
  Made made;
  uint32_t rule;         // of unary or binary; of a word: its emission
  uint32_t left, right;  // nodes, counted from the first of the tree
};

// Uniform in [-1, 1), by the numbers of what it is for.
double noise(uint64_t seed, uint64_t a, uint64_t b) {
  const uint64_t bits = mix64(mix64(mix64(seed) ^ a) + b);
  return static_cast<double>(bits >> 11) / static_cast<double>(uint64_t{1} << 52) - 1;
}

}  // namespace

struct LatentTraining::State {
  TrainingOptions options;
  LatentGrammar grammar;
  std::vector<Node> nodes;
  std::vector<size_t> begin = {0};  // of trees
  std::unordered_map<uint64_t, std::vector<std::pair<uint32_t, uint32_t>>> binary_numbers;
  std::unordered_map<uint64_t, uint32_t> unary_numbers, emission_numbers;
  std::vector<std::map<std::vector<uint32_t>, uint64_t>> chains;  // by unary rule
  std::vector<std::pair<uint32_t, uint32_t>> emissions;           // tag, word
  std::vector<double> first_counts;                               // by word, at the begin of trees
  uint32_t depth = 0;                                             // number of splits
  // Parameters of binary and unary rules and of emissions: where each begins, and the values.
  std::vector<size_t> binary_at, unary_at, emission_at;
  std::vector<double> values;

  uint32_t size(uint32_t symbol) const { return grammar.substates[symbol]; }

  uint32_t binary_rule(uint32_t parent, uint32_t left, uint32_t right) {
    auto& others = binary_numbers[uint64_t{left} << 32 | right];
    for (const auto& [symbol, number] : others) {
      if (symbol == parent) return number;
    }
    const auto number = static_cast<uint32_t>(grammar.binary.size());
    grammar.binary.push_back({parent, left, right, {}});
    others.emplace_back(parent, number);
    return number;
  }
  uint32_t unary_rule(uint32_t parent, uint32_t child) {
    const auto [found, added] = unary_numbers.try_emplace(
        uint64_t{parent} << 32 | child, static_cast<uint32_t>(grammar.unary.size()));
    if (added) {
      grammar.unary.push_back({parent, child, {}, {}});
      chains.emplace_back();
    }
    return found->second;
  }
  uint32_t emission(uint32_t tag, uint32_t word) {
    const auto [found, added] = emission_numbers.try_emplace(
        uint64_t{tag} << 32 | word, static_cast<uint32_t>(emissions.size()));
    if (added) emissions.emplace_back(tag, word);
    return found->second;
  }

  uint32_t push(uint32_t symbol, Made made, uint32_t rule, uint32_t left, uint32_t right) {
    nodes.push_back({symbol, made, rule, left, right});
    return static_cast<uint32_t>(nodes.size() - 1 - begin.back());
  }
  uint32_t build(const Tree& tree, uint32_t node, const WordNumbers& labels,
                 const WordNumbers& tree_words, std::vector<uint32_t> above);
  void place_values();
  std::vector<std::vector<double>> normalise();
  void maximise(std::vector<double> counts);
  size_t trees() const { return begin.size() - 1; }
  void lexicon();
};

// The node of a subtree; `above` are the labels of unary nodes above it, the topmost first.
uint32_t LatentTraining::State::build(const Tree& tree, uint32_t node, const WordNumbers& labels,
                                      const WordNumbers& tree_words, std::vector<uint32_t> above) {
  const std::string_view label = labels.word(tree.nodes[node].label);
  uint32_t made = 0, symbol = 0;
  if (tree.preterminal(node)) {
    symbol = grammar.tag_symbol(label);
    const std::string word = grammar.spelling(tree_words.word(tree.words[tree.nodes[node].begin]));
    const uint32_t number = grammar.words.add(word);
    if (number == grammar.word_counts.size()) {
      grammar.word_counts.push_back(0);
      first_counts.push_back(0);
    }
    grammar.word_counts[number] += 1;
    if (tree.nodes[node].begin == 0) first_counts[number] += 1;
    made = push(symbol, Made::word, emission(symbol, number), 0, 0);
  } else {
    const uint32_t first = node + 1, second = tree.nodes[first].next;
    symbol = grammar.phrase_symbol(label);
    if (second == tree.nodes[node].next) {
      above.push_back(symbol);
      return build(tree, first, labels, tree_words, std::move(above));
    }
    const uint32_t left = build(tree, first, labels, tree_words, {});
    const uint32_t right = build(tree, second, labels, tree_words, {});
    const size_t start = begin.back();
    made = push(symbol, Made::binary,
                binary_rule(symbol, nodes[start + left].symbol, nodes[start + right].symbol), left,
                right);
  }
  if (above.empty() || above[0] == symbol) return made;
  const uint32_t rule = unary_rule(above[0], symbol);
  ++chains[rule][{above.begin() + 1, above.end()}];
  return push(above[0], Made::unary, rule, made, 0);
}

void LatentTraining::State::place_values() {
  size_t total = 0;
  binary_at.clear();
  unary_at.clear();
  emission_at.clear();
  for (const auto& rule : grammar.binary) {
    binary_at.push_back(total);
    total += size_t{size(rule.parent)} * size(rule.left) * size(rule.right);
  }
  for (const auto& rule : grammar.unary) {
    unary_at.push_back(total);
    total += size_t{size(rule.parent)} * size(rule.child);
  }
  for (const auto& [tag, word] : emissions) {
    emission_at.push_back(total);
    total += size(tag);
  }
  emission_at.push_back(total);
  values.assign(total, 0);
}

// Divides values by their sums for each substate of a parent, which are returned by symbol.
std::vector<std::vector<double>> LatentTraining::State::normalise() {
  std::vector<std::vector<double>> totals(grammar.symbols.size());
  for (uint32_t s = 0; s < totals.size(); ++s) totals[s].assign(size(s), 0);
  const auto each = [&](const auto& visit) {
    for (size_t r = 0; r < grammar.binary.size(); ++r) {
      const auto& rule = grammar.binary[r];
      visit(rule.parent, binary_at[r], size_t{size(rule.left)} * size(rule.right));
    }
    for (size_t r = 0; r < grammar.unary.size(); ++r) {
      visit(grammar.unary[r].parent, unary_at[r], size_t{size(grammar.unary[r].child)});
    }
    for (size_t e = 0; e < emissions.size(); ++e) visit(emissions[e].first, emission_at[e], 1);
  };
  each([&](uint32_t parent, size_t at, size_t rows) {
    for (size_t i = 0, k = size(parent); i < rows * k; ++i) totals[parent][i % k] += values[at + i];
  });
  each([&](uint32_t parent, size_t at, size_t rows) {
    for (size_t i = 0, k = size(parent); i < rows * k; ++i) {
      const double total = totals[parent][i % k];
      const double p = total > 0 ? values[at + i] / total : 0;
      values[at + i] = p < kLeast ? 0 : p;
    }
  });
  return totals;
}

// Counts -> probabilities: a rule given the substate of its parent.
void LatentTraining::State::maximise(std::vector<double> counts) {
  values = std::move(counts);
  grammar.tag_counts = normalise();
}

namespace {

// Inside and outside scores of one tree, each node's scaled to a maximum of 1.
template <typename State>
class TreeScores {
 public:
  TreeScores(const State& state, size_t width) : state_(state), width_(width) {}

  // The log-likelihood; minus infinity if the tree is impossible.
  double inside(size_t tree) {
    first_ = state_.begin[tree];
    count_ = state_.begin[tree + 1] - first_;
    in_.assign(count_ * width_, 0);
    scale_.assign(count_, 0);
    double log_likelihood = 0;
    for (size_t n = 0; n < count_; ++n) {
      const Node& node = state_.nodes[first_ + n];
      const size_t k = state_.size(node.symbol);
      double* const in = &in_[n * width_];
      if (node.made == Made::word) {
        std::copy_n(&state_.values[state_.emission_at[node.rule]], k, in);
      } else if (node.made == Made::unary) {
        const double* p = &state_.values[state_.unary_at[node.rule]];
        for (size_t y = 0; y < size_of(node.left); ++y, p += k) {
          const double below = in_[node.left * width_ + y];
          for (size_t x = 0; x < k; ++x) in[x] += p[x] * below;
        }
      } else {
        const double* p = &state_.values[state_.binary_at[node.rule]];
        for (size_t y = 0; y < size_of(node.left); ++y) {
          for (size_t z = 0; z < size_of(node.right); ++z, p += k) {
            const double below = in_[node.left * width_ + y] * in_[node.right * width_ + z];
            if (below < kLeast) continue;
            for (size_t x = 0; x < k; ++x) in[x] += p[x] * below;
          }
        }
      }
      const double most = *std::max_element(in, in + k);
      if (!(most > 0)) return -HUGE_VAL;
      scale_[n] = most;
      for (size_t x = 0; x < k; ++x) in[x] = in[x] < kLeast * most ? 0 : in[x] / most;
      log_likelihood += std::log(most);
    }
    return log_likelihood;  // the root has one substate, whose score is 1 after scaling
  }

  // Expected counts of rules, added to `counts`, if not null.
  void outside(double* counts) {
    out_.assign(count_ * width_, 0);
    out_[(count_ - 1) * width_] = 1;
    for (size_t n = count_; n-- > 0;) {
      const Node& node = state_.nodes[first_ + n];
      const size_t k = state_.size(node.symbol);
      const double* const in = &in_[n * width_];
      double* const out = &out_[n * width_];
      const double most = *std::max_element(out, out + k);
      double norm = 0;
      for (size_t x = 0; x < k; ++x) {
        out[x] = out[x] < kLeast * most ? 0 : out[x] / most;
        norm += out[x] * in[x];
      }
      const double weight = 1 / (norm * scale_[n]);
      if (node.made == Made::word) {
        if (counts == nullptr) continue;
        double* const c = counts + state_.emission_at[node.rule];
        for (size_t x = 0; x < k; ++x) c[x] += out[x] * in[x] / norm;
      } else if (node.made == Made::unary) {
        const size_t at = state_.unary_at[node.rule];
        const double* p = &state_.values[at];
        double* const below = &out_[node.left * width_];
        for (size_t y = 0; y < size_of(node.left); ++y, p += k) {
          const double inner = in_[node.left * width_ + y] * weight;
          double sum = 0;
          for (size_t x = 0; x < k; ++x) sum += out[x] * p[x];
          below[y] += sum;
          if (counts == nullptr) continue;
          double* const c = counts + at + y * k;
          for (size_t x = 0; x < k; ++x) c[x] += out[x] * p[x] * inner;
        }
      } else {
        const size_t at = state_.binary_at[node.rule];
        const double* p = &state_.values[at];
        double* c = counts == nullptr ? nullptr : counts + at;
        const double* const left_in = &in_[node.left * width_];
        const double* const right_in = &in_[node.right * width_];
        double* const left = &out_[node.left * width_];
        double* const right = &out_[node.right * width_];
        for (size_t y = 0; y < size_of(node.left); ++y) {
          for (size_t z = 0; z < size_of(node.right); ++z, p += k) {
            double sum = 0;
            for (size_t x = 0; x < k; ++x) sum += out[x] * p[x];
            left[y] += sum * right_in[z];
            right[z] += sum * left_in[y];
            if (c == nullptr) continue;
            const double inner = left_in[y] * right_in[z] * weight;
            for (size_t x = 0; x < k; ++x) c[x] += out[x] * p[x] * inner;
            c += k;
          }
        }
      }
    }
  }

  size_t nodes() const { return count_; }
  const Node& node(size_t n) const { return state_.nodes[first_ + n]; }
  const double* in(size_t n) const { return &in_[n * width_]; }
  const double* out(size_t n) const { return &out_[n * width_]; }

 private:
  size_t size_of(uint32_t n) const { return state_.size(state_.nodes[first_ + n].symbol); }
  const State& state_;
  size_t width_, first_ = 0, count_ = 0;
  std::vector<double> in_, out_, scale_;
};

}  // namespace

LatentTraining::LatentTraining(const TrainingOptions& options) : state_(std::make_unique<State>()) {
  state_->options = options;
  state_->grammar.lowercase = options.lowercase;
  state_->grammar.rare = options.rare;
  state_->grammar.prior = options.prior;
  state_->grammar.root = state_->grammar.phrase_symbol(kTop);
}

LatentTraining::~LatentTraining() = default;

bool LatentTraining::add(const Tree& tree, WordNumbers& labels, const WordNumbers& words) {
  const Tree plain = normalised(tree, labels);
  if (plain.empty()) return false;
  const Tree binary = binarised(plain, state_->options.binarisation, labels);
  State& s = *state_;
  const std::string_view top = labels.word(binary.nodes[0].label);
  if (top == "ROOT" || top == "S1" || top == kTop) {
    // The root may have another name; all become TOP.
    Tree renamed = binary;
    renamed.nodes[0].label = labels.add(kTop);
    s.build(renamed, 0, labels, words, {});
  } else {
    s.build(binary, 0, labels, words, {s.grammar.root});
  }
  s.begin.push_back(s.nodes.size());
  return true;
}

void LatentTraining::begin() {
  State& s = *state_;
  if (s.trees() == 0) throw InputError("no trees to learn from; give a file with trees");
  for (size_t r = 0; r < s.grammar.unary.size(); ++r) {
    const auto& all = s.chains[r];
    s.grammar.unary[r].inside =
        std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->first;
  }
  s.place_values();
  std::vector<double> counts(s.values.size(), 0);
  for (const Node& node : s.nodes) {
    const auto& at = node.made == Made::word    ? s.emission_at
                     : node.made == Made::unary ? s.unary_at
                                                : s.binary_at;
    counts[at[node.rule]] += 1;
  }
  s.maximise(std::move(counts));
}

double LatentTraining::iterate() {
  State& s = *state_;
  const size_t width = *std::ranges::max_element(s.grammar.substates);
  std::vector<std::vector<double>> counts(kParts);
  std::vector<double> sums(kParts, 0);
  parallel_for(kParts, s.options.threads, [&](size_t part) {
    counts[part].assign(s.values.size(), 0);
    TreeScores<State> scores(s, width);
    for (size_t t = part; t < s.trees(); t += kParts) {
      const double likelihood = scores.inside(t);
      if (likelihood == -HUGE_VAL) continue;
      sums[part] += likelihood;
      scores.outside(counts[part].data());
      if (t % 256 == 0) poll_interrupt();
    }
  });
  for (size_t part = 1; part < kParts; ++part) {
    for (size_t i = 0; i < counts[0].size(); ++i) counts[0][i] += counts[part][i];
  }
  s.maximise(std::move(counts[0]));
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

void LatentTraining::split() {
  State& s = *state_;
  const std::vector<uint32_t> old = s.grammar.substates;
  const std::vector<double> before = std::move(s.values);
  const auto binary_at = s.binary_at, unary_at = s.unary_at, emission_at = s.emission_at;
  for (uint32_t& k : s.grammar.substates) {
    if (2 * k > kMostSubstates) {
      throw InputError("a symbol has more than " + std::to_string(kMostSubstates) +
                       " substates; use fewer cycles");
    }
    k *= 2;
  }
  s.grammar.substates[s.grammar.root] = 1;
  const auto halves = [&](uint32_t symbol) { return s.size(symbol) / old[symbol]; };
  s.place_values();
  const uint64_t seed = mix64(s.options.seed) + ++s.depth;
  for (size_t r = 0; r < s.grammar.binary.size(); ++r) {
    const auto& rule = s.grammar.binary[r];
    const size_t a = halves(rule.parent), b = halves(rule.left), c = halves(rule.right);
    const size_t k = s.size(rule.parent), right = s.size(rule.right);
    for (size_t i = 0; i < k * s.size(rule.left) * right; ++i) {
      const size_t x = i % k / a, z = i / k % right / c, y = i / k / right / b;
      const double p = before[binary_at[r] + (y * (right / c) + z) * (k / a) + x];
      s.values[s.binary_at[r] + i] =
          p / static_cast<double>(b * c) * (1 + kNoise * noise(seed, r, i));
    }
  }
  for (size_t r = 0; r < s.grammar.unary.size(); ++r) {
    const auto& rule = s.grammar.unary[r];
    const size_t a = halves(rule.parent), b = halves(rule.child), k = s.size(rule.parent);
    for (size_t i = 0; i < k * s.size(rule.child); ++i) {
      const double p = before[unary_at[r] + i / k / b * (k / a) + i % k / a];
      s.values[s.unary_at[r] + i] = p / static_cast<double>(b) * (1 + kNoise * noise(seed, ~r, i));
    }
  }
  for (size_t e = 0; e < s.emissions.size(); ++e) {
    const size_t a = halves(s.emissions[e].first), k = s.size(s.emissions[e].first);
    for (size_t x = 0; x < k; ++x) {
      s.values[s.emission_at[e] + x] =
          before[emission_at[e] + x / a] * (1 + kNoise * noise(seed + 1, e, x));
    }
  }
  s.normalise();
}

size_t LatentTraining::merge() {
  State& s = *state_;
  const size_t width = *std::ranges::max_element(s.grammar.substates), half = width / 2;
  if (half == 0) return 0;
  const auto& totals = s.grammar.tag_counts;
  const auto share = [&](uint32_t symbol, size_t x) {  // of a substate in its pair
    const double both = totals[symbol][x] + totals[symbol][x ^ 1];
    return both > 0 ? totals[symbol][x] / both : 0.5;
  };
  // The loss in log-likelihood of merging a pair everywhere, one pair at a time.
  std::vector<std::vector<double>> losses(kParts);
  parallel_for(kParts, s.options.threads, [&](size_t part) {
    losses[part].assign(s.grammar.symbols.size() * half, 0);
    TreeScores<State> scores(s, width);
    for (size_t t = part; t < s.trees(); t += kParts) {
      if (scores.inside(t) == -HUGE_VAL) continue;
      scores.outside(nullptr);
      for (size_t n = 0; n < scores.nodes(); ++n) {
        const uint32_t symbol = scores.node(n).symbol;
        const size_t k = s.size(symbol);
        if (k < 2) continue;
        const double *in = scores.in(n), *out = scores.out(n);
        double all = 0;
        for (size_t x = 0; x < k; ++x) all += in[x] * out[x];
        for (size_t x = 0; x < k; x += 2) {
          const double merged =
              (share(symbol, x) * in[x] + share(symbol, x + 1) * in[x + 1]) * (out[x] + out[x + 1]);
          const double rest = all - in[x] * out[x] - in[x + 1] * out[x + 1] + merged;
          losses[part][symbol * half + x / 2] += std::log(all / std::max(rest, 1e-12 * all));
        }
      }
      if (t % 256 == 0) poll_interrupt();
    }
  });
  struct Pair {
    double loss;
    uint32_t symbol, pair;
  };
  std::vector<Pair> pairs;
  for (uint32_t symbol = 0; symbol < s.grammar.symbols.size(); ++symbol) {
    for (uint32_t pair = 0; 2 * pair + 1 < s.size(symbol); ++pair) {
      double loss = 0;
      for (const auto& part : losses) loss += part[symbol * half + pair];
      pairs.push_back({loss, symbol, pair});
    }
  }
  std::ranges::stable_sort(pairs, {}, &Pair::loss);
  const auto merged =
      static_cast<size_t>(s.options.merge_share * static_cast<double>(pairs.size()));
  std::vector<std::vector<bool>> joined(s.grammar.symbols.size(), std::vector<bool>(half, false));
  for (size_t i = 0; i < merged; ++i) joined[pairs[i].symbol][pairs[i].pair] = true;

  // New numbers of substates, and the weight of each in its new one.
  std::vector<std::vector<uint32_t>> number(s.grammar.symbols.size());
  std::vector<std::vector<double>> weight(s.grammar.symbols.size());
  const std::vector<uint32_t> old = s.grammar.substates;
  for (uint32_t symbol = 0; symbol < old.size(); ++symbol) {
    uint32_t next = 0;
    for (uint32_t x = 0; x < old[symbol]; ++x) {
      const bool join = old[symbol] > 1 && joined[symbol][x / 2];
      if (join && x % 2 == 1) --next;
      number[symbol].push_back(next++);
      weight[symbol].push_back(join ? share(symbol, x) : 1);
    }
    s.grammar.substates[symbol] = next;
  }
  const std::vector<double> before = std::move(s.values);
  const auto binary_at = s.binary_at, unary_at = s.unary_at, emission_at = s.emission_at;
  std::vector<std::vector<double>> sums(old.size());
  for (uint32_t symbol = 0; symbol < old.size(); ++symbol) {
    sums[symbol].assign(s.size(symbol), 0);
    for (uint32_t x = 0; x < old[symbol]; ++x) sums[symbol][number[symbol][x]] += totals[symbol][x];
  }
  s.place_values();
  for (size_t r = 0; r < s.grammar.binary.size(); ++r) {
    const auto& rule = s.grammar.binary[r];
    const size_t k = old[rule.parent], right = old[rule.right];
    for (size_t i = 0; i < k * old[rule.left] * right; ++i) {
      const size_t x = i % k, z = i / k % right, y = i / k / right;
      const size_t to =
          (number[rule.left][y] * size_t{s.size(rule.right)} + number[rule.right][z]) *
              s.size(rule.parent) +
          number[rule.parent][x];
      s.values[s.binary_at[r] + to] += weight[rule.parent][x] * before[binary_at[r] + i];
    }
  }
  for (size_t r = 0; r < s.grammar.unary.size(); ++r) {
    const auto& rule = s.grammar.unary[r];
    const size_t k = old[rule.parent];
    for (size_t i = 0; i < k * old[rule.child]; ++i) {
      const size_t to =
          number[rule.child][i / k] * size_t{s.size(rule.parent)} + number[rule.parent][i % k];
      s.values[s.unary_at[r] + to] += weight[rule.parent][i % k] * before[unary_at[r] + i];
    }
  }
  for (size_t e = 0; e < s.emissions.size(); ++e) {
    const uint32_t tag = s.emissions[e].first;
    for (size_t x = 0; x < old[tag]; ++x) {
      s.values[s.emission_at[e] + number[tag][x]] += weight[tag][x] * before[emission_at[e] + x];
    }
  }
  s.grammar.tag_counts = std::move(sums);
  return merged;
}

void LatentTraining::smooth() {
  State& s = *state_;
  const auto even = [&](size_t at, size_t rows, size_t k, double alpha) {
    for (size_t row = 0; row < rows; ++row) {
      double* const p = &s.values[at + row * k];
      const double mean = std::accumulate(p, p + k, 0.0) / static_cast<double>(k);
      for (size_t x = 0; x < k; ++x) p[x] = (1 - alpha) * p[x] + alpha * mean;
    }
  };
  for (size_t r = 0; r < s.grammar.binary.size(); ++r) {
    const auto& rule = s.grammar.binary[r];
    even(s.binary_at[r], size_t{s.size(rule.left)} * s.size(rule.right), s.size(rule.parent),
         s.options.rule_smoothing);
  }
  for (size_t r = 0; r < s.grammar.unary.size(); ++r) {
    even(s.unary_at[r], s.size(s.grammar.unary[r].child), s.size(s.grammar.unary[r].parent),
         s.options.rule_smoothing);
  }
  for (size_t e = 0; e < s.emissions.size(); ++e) {
    even(s.emission_at[e], 1, s.size(s.emissions[e].first), s.options.word_smoothing);
  }
}

void LatentTraining::State::lexicon() {
  grammar.by_word.assign(grammar.words.size(), {});
  grammar.signatures.clear();
  grammar.by_signature.clear();
  grammar.signature_counts.clear();
  const auto add = [&](std::string_view shape, uint32_t tag, const std::vector<float>& counts,
                       double share) {
    const uint32_t group = grammar.signatures.add(shape);
    if (group == grammar.by_signature.size()) {
      grammar.by_signature.emplace_back();
      grammar.signature_counts.push_back(0);
    }
    auto& all = grammar.by_signature[group];
    auto found = std::ranges::find(all, tag, &LatentGrammar::Emission::tag);
    if (found == all.end()) {
      all.push_back({tag, std::vector<float>(counts.size(), 0)});
      found = all.end() - 1;
    }
    for (size_t x = 0; x < counts.size(); ++x) {
      found->counts[x] += static_cast<float>(share * counts[x]);
      grammar.signature_counts[group] += share * counts[x];
    }
  };
  for (size_t e = 0; e < emissions.size(); ++e) {
    const auto& [tag, word] = emissions[e];
    std::vector<float> counts(size(tag));
    for (size_t x = 0; x < counts.size(); ++x) {
      counts[x] = static_cast<float>(values[emission_at[e] + x] * grammar.tag_counts[tag][x]);
    }
    if (grammar.word_counts[word] <= grammar.rare) {
      const double first = first_counts[word] / grammar.word_counts[word];
      const std::string_view text = grammar.words.word(word);
      if (first > 0) add(signature(text, true), tag, counts, first);
      if (first < 1) add(signature(text, false), tag, counts, 1 - first);
      // Shorter shapes stand in for shapes that were never seen.
      for (std::string shape = signature(text, false); shape.find('-') != std::string::npos;) {
        shape.resize(shape.rfind('-'));
        add(shape, tag, counts, 1);
      }
    }
    grammar.by_word[word].push_back({tag, std::move(counts)});
  }
  for (auto& all : grammar.by_word) std::ranges::sort(all, {}, &LatentGrammar::Emission::tag);
  for (auto& all : grammar.by_signature) std::ranges::sort(all, {}, &LatentGrammar::Emission::tag);
}

const LatentGrammar& LatentTraining::grammar() const {
  State& s = *state_;
  for (size_t r = 0; r < s.grammar.binary.size(); ++r) {
    auto& rule = s.grammar.binary[r];
    const auto from = s.values.begin() + static_cast<ptrdiff_t>(s.binary_at[r]);
    rule.p.assign(from, from + static_cast<ptrdiff_t>(size_t{s.size(rule.parent)} *
                                                      s.size(rule.left) * s.size(rule.right)));
  }
  const auto without_least = [](std::vector<float>& p) {
    for (float& value : p) value = value < kLeastSaved ? 0 : value;
  };
  for (auto& rule : s.grammar.binary) without_least(rule.p);
  for (size_t r = 0; r < s.grammar.unary.size(); ++r) {
    auto& rule = s.grammar.unary[r];
    const auto from = s.values.begin() + static_cast<ptrdiff_t>(s.unary_at[r]);
    rule.p.assign(from,
                  from + static_cast<ptrdiff_t>(size_t{s.size(rule.parent)} * s.size(rule.child)));
  }
  s.lexicon();
  return s.grammar;
}

size_t LatentTraining::trees() const { return state_->trees(); }

std::vector<double> LatentTraining::likelihoods() const {
  const State& s = *state_;
  TreeScores<State> scores(s, *std::ranges::max_element(s.grammar.substates));
  std::vector<double> result;
  for (size_t t = 0; t < s.trees(); ++t) result.push_back(scores.inside(t));
  return result;
}

double LatentTraining::enumerated(size_t tree) const {
  const State& s = *state_;
  const size_t first = s.begin[tree], count = s.begin[tree + 1] - first;
  std::vector<uint32_t> chosen(count);
  const std::function<double(size_t)> sum = [&](size_t n) -> double {
    if (n == count) return 1;
    const Node& node = s.nodes[first + n];
    const size_t k = s.size(node.symbol);
    double total = 0;
    for (uint32_t x = 0; x < k; ++x) {
      chosen[n] = x;
      double p = 0;
      if (node.made == Made::word) {
        p = s.values[s.emission_at[node.rule] + x];
      } else if (node.made == Made::unary) {
        p = s.values[s.unary_at[node.rule] + chosen[node.left] * k + x];
      } else {
        const size_t right = s.size(s.nodes[first + node.right].symbol);
        const size_t pair = chosen[node.left] * right + chosen[node.right];
        p = s.values[s.binary_at[node.rule] + pair * k + x];
      }
      total += p * sum(n + 1);
    }
    return total;
  };
  return std::log(sum(0));
}

}  // namespace hopefear::syntax
