#include "syntax/latent_parser.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/interrupt.hpp"
#include "syntax/brackets.hpp"

namespace hopefear::syntax {
namespace {

constexpr uint32_t kAbsent = 0xffffffff;
constexpr double kMostDifference = 60;  // of logs; smaller parts of a sum are left out
constexpr float kLeast = 1e-25F;        // likewise

double mean(const std::vector<double>& counts, size_t x) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  return total > 0 ? counts[x] / total : 1.0 / static_cast<double>(counts.size());
}

}  // namespace

// The chart of one sentence and one grammar, with substates or without. Inside scores of a span are
// scaled to a maximum of 1; outside scores so that their product is a posterior.
class LatentParser::Chart {
 public:
  struct Entry {  // a symbol over a span
    uint32_t symbol, size;
    size_t at;  // of its scores in in_ and out_
    double posterior = 0;
  };
  struct Cell {
    std::vector<Entry> bottom, top;
    double scale = 0;  // log of the factor taken out of inside scores
    bool alive = false;
  };
  struct Use {             // of a rule in a tree: its posterior
    uint32_t head;         // entry among the bottoms (binary) or tops (unary) of the span
    uint32_t left, right;  // entries of the children; unary: a bottom
    uint32_t middle;
    uint32_t rule;  // kAbsent: the top is the bottom
    float posterior;
  };

  Chart(const LatentParser& parser, bool fine, size_t words)
      : parser_(parser),
        grammar_(parser.grammar_),
        fine_(fine),
        words_(words),
        cells_(words * (words + 1)),
        slot_(grammar_.symbols.size(), kAbsent) {}

  Cell& cell(size_t begin, size_t end) { return cells_[begin * (words_ + 1) + end]; }
  uint32_t size(uint32_t symbol) const { return fine_ ? grammar_.substates[symbol] : 1; }
  const float* binary(uint32_t rule) const {
    return fine_ ? grammar_.binary[rule].p.data() : &parser_.coarse_binary_[rule];
  }
  const float* unary(uint32_t rule) const {
    return fine_ ? grammar_.unary[rule].p.data() : &parser_.coarse_unary_[rule];
  }

  // `filter`: the chart whose posteriors prune this one, or null. Returns whether there is a tree.
  bool inside(const std::vector<std::vector<LatentGrammar::Scored>>& lexicon, Chart* filter,
              double threshold, double beam) {
    for (size_t width = 1; width <= words_; ++width) {
      for (size_t begin = 0; begin + width <= words_; ++begin) {
        fill(begin, begin + width, lexicon, filter, threshold, beam);
      }
      poll_interrupt();
    }
    const Cell& whole = cell(0, words_);
    for (const Entry& entry : whole.top) {
      if (entry.symbol == grammar_.root && in_[entry.at] > 0) return true;
    }
    return false;
  }

  double log_likelihood() {
    for (const Entry& entry : cell(0, words_).top) {
      if (entry.symbol == grammar_.root) return std::log(in_[entry.at]) + cell(0, words_).scale;
    }
    return -HUGE_VAL;
  }

  // Posteriors of entries; with `uses` also those of rules.
  void outside(bool keep_uses) {
    out_.assign(in_.size(), 0);
    for (Entry& entry : cell(0, words_).top) {
      if (entry.symbol == grammar_.root) out_[entry.at] = 1 / in_[entry.at];
    }
    if (keep_uses) uses_.resize(cells_.size());
    for (size_t width = words_; width > 0; --width) {
      for (size_t begin = 0; begin + width <= words_; ++begin)
        spread(begin, begin + width, keep_uses);
      poll_interrupt();
    }
  }

  // The tree with the largest product of posteriors of rules. `labels`: appends brackets to `text`.
  bool best(std::span<const std::string_view> words, std::string& text) {
    bottom_best_.assign(cells_.size(), {});
    top_best_.assign(cells_.size(), {});
    for (size_t width = 1; width <= words_; ++width) {
      for (size_t begin = 0; begin + width <= words_; ++begin) choose(begin, begin + width);
    }
    const Cell& whole = cell(0, words_);
    for (uint32_t e = 0; e < whole.top.size(); ++e) {
      if (whole.top[e].symbol != grammar_.root) continue;
      if (top_best_[words_][e].score == -HUGE_VAL) return false;
      write_top(0, words_, e, words, text);
      return true;
    }
    return false;
  }

 private:
  struct Choice {
    double score = -HUGE_VAL;
    const Use* use = nullptr;
  };

  uint32_t add(std::vector<Entry>& entries, uint32_t symbol) {
    const uint32_t k = size(symbol);
    entries.push_back({symbol, k, in_.size(), 0});
    in_.resize(in_.size() + k, 0);
    return static_cast<uint32_t>(entries.size() - 1);
  }

  void fill(size_t begin, size_t end,
            const std::vector<std::vector<LatentGrammar::Scored>>& lexicon, Chart* filter,
            double threshold, double beam) {
    Cell& here = cell(begin, end);
    const bool word = end == begin + 1;
    // Which symbols: those that pass the filter.
    if (filter != nullptr) {
      const Cell& coarse = filter->cell(begin, end);
      for (const Entry& entry : coarse.bottom) {
        if (entry.posterior >= threshold) slot_[entry.symbol] = add(here.bottom, entry.symbol);
      }
      for (const Entry& entry : coarse.top) {
        if (entry.posterior >= threshold) add(here.top, entry.symbol);
      }
    }
    if (word) {
      for (const LatentGrammar::Scored& scored : lexicon[begin]) {
        uint32_t slot = slot_[scored.tag];
        if (slot == kAbsent) {
          if (filter != nullptr) continue;
          slot = slot_[scored.tag] = add(here.bottom, scored.tag);
        }
        float* const in = &in_[here.bottom[slot].at];
        if (fine_) {
          std::ranges::copy(scored.scores, in);
        } else {
          const auto& counts = grammar_.tag_counts[scored.tag];
          for (size_t x = 0; x < scored.scores.size(); ++x) {
            *in += static_cast<float>(mean(counts, x) * scored.scores[x]);
          }
        }
      }
      here.scale = 0;
    } else {
      double most = -HUGE_VAL;
      for (size_t middle = begin + 1; middle < end; ++middle) {
        const Cell &left = cell(begin, middle), &right = cell(middle, end);
        if (left.alive && right.alive) most = std::max(most, left.scale + right.scale);
      }
      if (most == -HUGE_VAL) {
        clear_slots(here);
        return;
      }
      here.scale = most;
      for (size_t middle = begin + 1; middle < end; ++middle) {
        const Cell &left = cell(begin, middle), &right = cell(middle, end);
        if (!left.alive || !right.alive) continue;
        const double difference = left.scale + right.scale - most;
        if (difference < -kMostDifference) continue;
        join(here, left, right, static_cast<float>(std::exp(difference)), filter == nullptr);
      }
    }
    clear_slots(here);
    // Unary rules; a top may be the bottom itself.
    if (filter == nullptr) {
      if (beam > 0) keep_best(here.bottom, beam);
      for (const Entry& entry : here.bottom) slot_[entry.symbol] = add(here.top, entry.symbol);
      for (uint32_t r = 0; r < grammar_.unary.size(); ++r) {
        const auto& rule = grammar_.unary[r];
        if (find(here.bottom, rule.child) == kAbsent || slot_[rule.parent] != kAbsent) continue;
        slot_[rule.parent] = add(here.top, rule.parent);
      }
      for (const Entry& entry : here.top) slot_[entry.symbol] = kAbsent;
    }
    for (const Entry& entry : here.bottom) {
      const uint32_t slot = find(here.top, entry.symbol);
      if (slot == kAbsent) continue;
      for (uint32_t x = 0; x < entry.size; ++x) in_[here.top[slot].at + x] += in_[entry.at + x];
    }
    each_unary(here, [&](uint32_t rule, const Entry& top, const Entry& bottom) {
      const float* p = unary(rule);
      for (uint32_t y = 0; y < bottom.size; ++y, p += top.size) {
        const float below = in_[bottom.at + y];
        for (uint32_t x = 0; x < top.size; ++x) in_[top.at + x] += p[x] * below;
      }
    });
    if (filter == nullptr && beam > 0) keep_best(here.top, beam);
    float most = 0;
    for (const auto* entries : {&here.bottom, &here.top}) {
      for (const Entry& entry : *entries) {
        for (uint32_t x = 0; x < entry.size; ++x) most = std::max(most, in_[entry.at + x]);
      }
    }
    if (!(most > 0)) return;
    here.alive = true;
    here.scale += std::log(static_cast<double>(most));
    for (const auto* entries : {&here.bottom, &here.top}) {
      for (const Entry& entry : *entries) {
        for (uint32_t x = 0; x < entry.size; ++x) in_[entry.at + x] /= most;
      }
    }
  }

  void clear_slots(const Cell& here) {
    for (const Entry& entry : here.bottom) slot_[entry.symbol] = kAbsent;
  }
  static uint32_t find(const std::vector<Entry>& entries, uint32_t symbol) {
    for (uint32_t e = 0; e < entries.size(); ++e) {
      if (entries[e].symbol == symbol) return e;
    }
    return kAbsent;
  }
  void keep_best(std::vector<Entry>& entries, double beam) {
    float most = 0;
    for (const Entry& entry : entries) most = std::max(most, in_[entry.at]);
    const auto least = static_cast<float>(beam * most);
    std::erase_if(entries, [&](const Entry& entry) {
      return in_[entry.at] < least && entry.symbol != grammar_.root;
    });
  }

  // Calls f(rule, top, bottom) for the unary rules within a span.
  template <typename F>
  void each_unary(Cell& here, F&& f) {
    for (uint32_t e = 0; e < here.bottom.size(); ++e) slot_[here.bottom[e].symbol] = e;
    for (uint32_t t = 0; t < here.top.size(); ++t) top_slot(here.top[t].symbol) = t;
    for (uint32_t r = 0; r < grammar_.unary.size(); ++r) {
      const auto& rule = grammar_.unary[r];
      if (slot_[rule.child] == kAbsent || top_slot(rule.parent) == kAbsent) continue;
      f(r, here.top[top_slot(rule.parent)], here.bottom[slot_[rule.child]]);
    }
    for (const Entry& entry : here.bottom) slot_[entry.symbol] = kAbsent;
    for (const Entry& entry : here.top) top_slot(entry.symbol) = kAbsent;
  }
  uint32_t& top_slot(uint32_t symbol) {
    if (top_slots_.empty()) top_slots_.assign(slot_.size(), kAbsent);
    return top_slots_[symbol];
  }

  void join(Cell& here, const Cell& left, const Cell& right, float factor, bool grow) {
    const size_t symbols = grammar_.symbols.size();
    for (const Entry& l : left.top) {
      const Pair* const row = &parser_.pairs_[l.symbol * symbols];
      for (const Entry& r : right.top) {
        const Pair pair = row[r.symbol];
        for (uint32_t i = pair.begin; i < pair.end; ++i) {
          const uint32_t rule = parser_.by_pair_[i];
          const uint32_t parent = grammar_.binary[rule].parent;
          uint32_t slot = slot_[parent];
          if (slot == kAbsent) {
            if (!grow) continue;
            slot = slot_[parent] = add(here.bottom, parent);
          }
          const float* p = binary(rule);
          const Entry& head = here.bottom[slot];
          float* const in = &in_[head.at];
          if (!fine_) {
            *in += *p * in_[l.at] * in_[r.at] * factor;
            continue;
          }
          for (uint32_t y = 0; y < l.size; ++y) {
            const float a = in_[l.at + y] * factor;
            if (a < kLeast) {
              p += size_t{r.size} * head.size;
              continue;
            }
            for (uint32_t z = 0; z < r.size; ++z, p += head.size) {
              const float below = a * in_[r.at + z];
              if (below < kLeast) continue;
              for (uint32_t x = 0; x < head.size; ++x) in[x] += p[x] * below;
            }
          }
        }
      }
    }
  }

  void spread(size_t begin, size_t end, bool keep_uses) {
    Cell& here = cell(begin, end);
    if (!here.alive) return;
    std::vector<Use>* const uses = keep_uses ? &uses_[begin * (words_ + 1) + end] : nullptr;
    // From tops to bottoms.
    for (uint32_t t = 0; t < here.top.size(); ++t) {
      const uint32_t slot = find(here.bottom, here.top[t].symbol);
      if (slot == kAbsent) continue;
      float posterior = 0;
      for (uint32_t x = 0; x < here.top[t].size; ++x) {
        const float out = out_[here.top[t].at + x];
        out_[here.bottom[slot].at + x] += out;
        posterior += out * in_[here.bottom[slot].at + x];
      }
      if (uses != nullptr && posterior > 0) uses->push_back({t, slot, 0, 0, kAbsent, posterior});
    }
    each_unary(here, [&](uint32_t rule, const Entry& top, const Entry& bottom) {
      const float* p = unary(rule);
      float posterior = 0;
      for (uint32_t y = 0; y < bottom.size; ++y, p += top.size) {
        float sum = 0;
        for (uint32_t x = 0; x < top.size; ++x) sum += p[x] * out_[top.at + x];
        out_[bottom.at + y] += sum;
        posterior += sum * in_[bottom.at + y];
      }
      if (uses == nullptr || !(posterior > 0)) return;
      const auto t = static_cast<uint32_t>(&top - here.top.data());
      const auto b = static_cast<uint32_t>(&bottom - here.bottom.data());
      uses->push_back({t, b, 0, 0, rule, posterior});
    });
    for (auto* entries : {&here.bottom, &here.top}) {
      for (Entry& entry : *entries) {
        for (uint32_t x = 0; x < entry.size; ++x) {
          entry.posterior += static_cast<double>(in_[entry.at + x]) * out_[entry.at + x];
        }
      }
    }
    for (uint32_t e = 0; e < here.bottom.size(); ++e) {
      if (here.bottom[e].posterior > 0) slot_[here.bottom[e].symbol] = e;
    }
    const size_t symbols = grammar_.symbols.size();
    for (size_t middle = begin + 1; middle < end; ++middle) {
      const Cell &left = cell(begin, middle), &right = cell(middle, end);
      if (!left.alive || !right.alive) continue;
      const double difference = left.scale + right.scale - here.scale;
      if (difference < -kMostDifference) continue;
      const auto factor = static_cast<float>(std::exp(difference));
      for (const Entry& l : left.top) {
        const Pair* const row = &parser_.pairs_[l.symbol * symbols];
        for (const Entry& r : right.top) {
          const Pair pair = row[r.symbol];
          for (uint32_t i = pair.begin; i < pair.end; ++i) {
            const uint32_t rule = parser_.by_pair_[i], slot = slot_[grammar_.binary[rule].parent];
            if (slot == kAbsent) continue;
            const Entry& head = here.bottom[slot];
            const float posterior = spread_rule(binary(rule), head, l, r, factor);
            if (uses != nullptr && posterior > 0) {
              uses->push_back({slot, static_cast<uint32_t>(&l - left.top.data()),
                               static_cast<uint32_t>(&r - right.top.data()),
                               static_cast<uint32_t>(middle), rule, posterior});
            }
          }
        }
      }
    }
    clear_slots(here);
  }

  float spread_rule(const float* p, const Entry& head, const Entry& l, const Entry& r,
                    float factor) {
    const float* const out = &out_[head.at];
    if (!fine_) {
      const float above = *out * *p * factor;
      out_[l.at] += above * in_[r.at];
      out_[r.at] += above * in_[l.at];
      return above * in_[l.at] * in_[r.at];
    }
    float posterior = 0;
    for (uint32_t y = 0; y < l.size; ++y) {
      float left = 0;
      const float below = in_[l.at + y] * factor;
      for (uint32_t z = 0; z < r.size; ++z, p += head.size) {
        float sum = 0;
        for (uint32_t x = 0; x < head.size; ++x) sum += p[x] * out[x];
        left += sum * in_[r.at + z];
        out_[r.at + z] += sum * below;
      }
      out_[l.at + y] += left * factor;
      posterior += left * below;
    }
    return posterior;
  }

  void choose(size_t begin, size_t end) {
    Cell& here = cell(begin, end);
    const size_t number = begin * (words_ + 1) + end;
    auto &bottom = bottom_best_[number], &top = top_best_[number];
    bottom.assign(here.bottom.size(), {});
    top.assign(here.top.size(), {});
    if (!here.alive) return;
    if (end == begin + 1) {
      for (uint32_t e = 0; e < here.bottom.size(); ++e) {
        const double posterior = here.bottom[e].posterior;
        if (posterior > 0) bottom[e].score = std::log(posterior);
      }
    }
    const auto take = [](Choice& choice, double score, const Use& use) {
      if (score > choice.score) choice = {score, &use};
    };
    for (const Use& use : uses_[number]) {
      if (use.middle == 0) continue;
      const Choice& left = top_best_[begin * (words_ + 1) + use.middle][use.left];
      const Choice& right = top_best_[use.middle * (words_ + 1) + end][use.right];
      take(bottom[use.head],
           left.score + right.score + std::log(static_cast<double>(use.posterior)), use);
    }
    for (const Use& use : uses_[number]) {
      if (use.middle != 0) continue;
      take(top[use.head], bottom[use.left].score + std::log(static_cast<double>(use.posterior)),
           use);
    }
  }

  void open(uint32_t symbol, std::string& text) const {
    if (!text.empty() && text.back() != ' ') text += ' ';
    text += '(';
    text += grammar_.name(symbol);
  }
  void write_top(size_t begin, size_t end, uint32_t entry, std::span<const std::string_view> words,
                 std::string& text) {
    const Use& use = *top_best_[begin * (words_ + 1) + end][entry].use;
    size_t opened = 0;
    if (use.rule != kAbsent) {
      open(grammar_.unary[use.rule].parent, text);
      for (const uint32_t symbol : grammar_.unary[use.rule].inside) open(symbol, text);
      opened = 1 + grammar_.unary[use.rule].inside.size();
    }
    write_bottom(begin, end, use.left, words, text);
    text.append(opened, ')');
  }
  void write_bottom(size_t begin, size_t end, uint32_t entry,
                    std::span<const std::string_view> words, std::string& text) {
    const uint32_t symbol = cell(begin, end).bottom[entry].symbol;
    const bool shown = grammar_.name(symbol)[0] != '@' || grammar_.tag[symbol] != 0;
    if (shown) open(symbol, text);
    if (end == begin + 1) {
      text += ' ';
      append_word(words[begin], text);
    } else {
      const Use& use = *bottom_best_[begin * (words_ + 1) + end][entry].use;
      write_top(begin, use.middle, use.left, words, text);
      write_top(use.middle, end, use.right, words, text);
    }
    if (shown) text += ')';
  }

  const LatentParser& parser_;
  const LatentGrammar& grammar_;
  const bool fine_;
  const size_t words_;
  std::vector<Cell> cells_;  // by begin * (words + 1) + end
  std::vector<float> in_, out_;
  std::vector<uint32_t> slot_, top_slots_;  // by symbol: entry of the current span
  std::vector<std::vector<Use>> uses_;
  std::vector<std::vector<Choice>> bottom_best_, top_best_;
};

LatentParser::LatentParser(LatentGrammar grammar, const ParseSettings& settings)
    : grammar_(std::move(grammar)), settings_(settings) {
  const size_t symbols = grammar_.symbols.size();
  by_pair_.resize(grammar_.binary.size());
  std::iota(by_pair_.begin(), by_pair_.end(), 0U);
  const auto key = [&](uint32_t rule) {
    return grammar_.binary[rule].left * symbols + grammar_.binary[rule].right;
  };
  std::ranges::stable_sort(by_pair_, {}, key);
  pairs_.resize(symbols * symbols);
  for (uint32_t i = 0; i < by_pair_.size(); ++i) {
    Pair& pair = pairs_[key(by_pair_[i])];
    if (pair.end == 0) pair.begin = i;
    pair.end = i + 1;
  }
  // Rules without substates: the mean over the substates of the parent, by their counts.
  const auto coarse = [&](uint32_t parent, const std::vector<float>& p) {
    const auto& counts = grammar_.tag_counts[parent];
    double sum = 0;
    for (size_t i = 0; i < p.size(); ++i) sum += mean(counts, i % counts.size()) * p[i];
    return static_cast<float>(sum);
  };
  for (const auto& rule : grammar_.binary) coarse_binary_.push_back(coarse(rule.parent, rule.p));
  for (const auto& rule : grammar_.unary) coarse_unary_.push_back(coarse(rule.parent, rule.p));
}

LatentParser::~LatentParser() = default;

LatentParser::Outcome LatentParser::parse(std::span<const std::string_view> words,
                                          std::string& text) const {
  text.clear();
  if (words.empty() || words.size() > settings_.most_words) {
    text = "()";
    return Outcome::none;
  }
  std::vector<std::vector<LatentGrammar::Scored>> lexicon;
  for (size_t i = 0; i < words.size(); ++i) {
    lexicon.push_back(grammar_.score_word(words[i], i == 0));
  }
  // A beam that is too narrow for a sentence is widened.
  for (const double wider : {1.0, 1e-4, 0.0}) {
    Chart coarse(*this, false, words.size());
    if (!coarse.inside(lexicon, nullptr, 0, settings_.beam * wider)) continue;
    coarse.outside(false);
    for (const double lower : {1.0, 1e-2, 1e-4}) {
      Chart fine(*this, true, words.size());
      if (!fine.inside(lexicon, &coarse, settings_.threshold * lower, 0)) continue;
      fine.outside(true);
      if (fine.best(words, text)) return Outcome::parsed;
      text.clear();
    }
  }
  text = "(TOP (FRAG";
  for (size_t i = 0; i < words.size(); ++i) {
    const auto best = std::ranges::max_element(lexicon[i], {}, [](const auto& scored) {
      return *std::ranges::max_element(scored.scores);
    });
    text += " (";
    text += best == lexicon[i].end() ? std::string_view("X") : grammar_.name(best->tag);
    text += ' ';
    append_word(words[i], text);
    text += ')';
  }
  text += "))";
  return Outcome::flat;
}

double LatentParser::likelihood(std::span<const std::string_view> words) const {
  std::vector<std::vector<LatentGrammar::Scored>> lexicon;
  for (size_t i = 0; i < words.size(); ++i) {
    lexicon.push_back(grammar_.score_word(words[i], i == 0));
  }
  Chart chart(*this, true, words.size());
  return chart.inside(lexicon, nullptr, 0, 0) ? chart.log_likelihood() : -HUGE_VAL;
}

}  // namespace hopefear::syntax
