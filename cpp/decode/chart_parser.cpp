#include "decode/chart_parser.hpp"

#include <algorithm>
#include <deque>
#include <optional>

#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace hopefear::decode {
namespace {

using features::SourceSpan;
using rules::RuleTable;

constexpr uint32_t kNoNode = 0xffffffff;

struct TooManyEdges {};

class Parser {
 public:
  Parser(const ChartSentence& sentence, const Weights& weights, const ParseOptions& options,
         int32_t span_limit, features::Memo& memo, features::NameLog& names)
      : sentence_(sentence),
        model_(sentence.model),
        size_(sentence.size()),
        limit_(std::min(span_limit, std::max(sentence.size(), 1))),
        builder_(sentence.vocabulary, model_.names),
        rules_(sentence, weights, builder_, options.target, options.target_features),
        use_(sentence),
        templates_(model_.templates),
        templates_by_(templates_),
        sums_places_(!options.record_places && templates_by_.depend_on_place()),
        sink_(fired_, &names),
        sum_(memo, nullptr, nullptr),
        target_(options.target),
        cells_(static_cast<size_t>(size_) * limit_),
        heads_(static_cast<size_t>(sentence.vocabulary->size()), {0, 0}),
        glue_nodes_(size_ + 1, kNoNode),
        completed_(limit_ + 1) {}

  ChartForest run() {
    for (begin_ = size_ - 1; begin_ >= 0; --begin_) {
      for (auto& list : completed_) list.clear();
      waiting_ = 0;
      last_ = std::min(size_, begin_ + limit_);
      for (uint32_t t = 0; t < sentence_.tables.size(); ++t) {
        const RuleTable& table = sentence_.tables[t]->rules();
        step_over_word(t, table, table.root(), begin_, 0);
      }
      for (int32_t end = begin_ + 1; end <= last_; ++end) {
        poll_interrupt();
        fill_cell(end);
        if (begin_ == 0 && model_.options.glue) glue(end);
        if (end < last_) start_with_constituents(end);
      }
    }
    if (model_.options.glue) {
      for (int32_t end = limit_ + 1; end <= size_; ++end) glue(end);
    }
    ChartForest made = {builder_.finish(goal(), sentence_.id), 0, {}};
    if (sums_places_) {
      made.place_scores.reserve(place_scores_.size());
      for (const uint32_t e : builder_.edge_order()) made.place_scores.push_back(place_scores_[e]);
    }
    return made;
  }

 private:
  // ---- the chart ----
  struct Entry {
    Label label;
    uint32_t node;
  };
  struct Cell {
    uint32_t first = 0, count = 0;
  };
  Cell& cell(int32_t begin, int32_t end) {
    return cells_[static_cast<size_t>(begin) * limit_ + (end - begin - 1)];
  }
  uint32_t find(int32_t begin, int32_t end, Label label) {
    const Cell& c = cell(begin, end);
    for (uint32_t i = c.first; i < c.first + c.count; ++i) {
      if (entries_[i].label == label) return entries_[i].node;
    }
    return kNoNode;
  }
  uint32_t add_node(int32_t begin, int32_t end, Label label) {
    spans_.push_back({begin, end});
    return builder_.add_node({static_cast<uint32_t>(end - begin), begin, end, label, {}});
  }
  // The node of a label in the cell that is being filled.
  uint32_t head(Label label) {
    auto& [stamp, node] = heads_[static_cast<size_t>(label)];
    if (stamp != stamp_) {
      stamp = stamp_;
      node = add_node(begin_, end_, label);
      entries_.push_back({label, node});
      ++cell(begin_, end_).count;
    }
    return node;
  }

  // ---- dotted items ----
  // An item at `node` of a trie that covers [begin_, end) and has read `depth` symbols, including
  // the nonterminals in tails_.
  void extend(uint32_t t, const RuleTable& table, RuleTable::Node node, int32_t end, size_t depth) {
    // Rules with many nonterminals can have more items than can be enumerated.
    if ((++items_ & 0xfff) == 0) poll_interrupt();
    if (table.rules(node).size() > 0) {
      const ChartRules::Range range = rules_.at(t, node, depth, tails_.size());
      if (range.begin < range.end) {
        // Each becomes at least one edge.
        if (builder_.edges() + ++waiting_ > model_.options.edge_limit) throw TooManyEdges();
        std::vector<uint32_t>& list = completed_[end - begin_];
        list.insert(list.end(), {range.begin, range.end});
        list.insert(list.end(), tails_.begin(), tails_.end());
      }
    }
    if (end >= last_) return;
    step_over_word(t, table, node, end, depth);
    const RuleTable::Edges out = table.edges(node);
    for (size_t i = out.symbols.size(); i-- > 0 && rules::is_nonterminal(out.symbols[i]);) {
      if (out.nodes[i] >= node) throw table.file().damaged("an edge leads upwards");
      const Label label = sentence_.tables[t]->label(rules::nonterminal(out.symbols[i]));
      for (int32_t next = end + 1; next <= last_; ++next) {
        const uint32_t constituent = find(end, next, label);
        if (constituent == kNoNode) continue;
        tails_.push_back(constituent);
        extend(t, table, out.nodes[i], next, depth + 1);
        tails_.pop_back();
      }
    }
  }
  void step_over_word(uint32_t t, const RuleTable& table, RuleTable::Node node, int32_t at,
                      size_t depth) {
    const rules::Symbol word = sentence_.source[t][at];
    if (word == rules::kNoWord) return;
    const RuleTable::Node next = table.child(node, word);
    if (next != RuleTable::kNoNode) extend(t, table, next, at + 1, depth + 1);
  }
  // Items whose first symbol is a constituent over [begin_, end). Rules of this one symbol were
  // applied when the cell was filled.
  void start_with_constituents(int32_t end) {
    for (uint32_t t = 0; t < sentence_.tables.size(); ++t) {
      const RuleTable& table = sentence_.tables[t]->rules();
      const RuleTable::Edges out = table.edges(table.root());
      for (size_t i = out.symbols.size(); i-- > 0 && rules::is_nonterminal(out.symbols[i]);) {
        const Label label = sentence_.tables[t]->label(rules::nonterminal(out.symbols[i]));
        const uint32_t constituent = find(begin_, end, label);
        if (constituent == kNoNode) continue;
        if (out.nodes[i] >= table.root()) throw table.file().damaged("an edge leads upwards");
        tails_.push_back(constituent);
        const RuleTable::Node node = out.nodes[i];
        step_over_word(t, table, node, end, 1);
        const RuleTable::Edges behind = table.edges(node);
        for (size_t k = behind.symbols.size();
             k-- > 0 && rules::is_nonterminal(behind.symbols[k]);) {
          if (behind.nodes[k] >= node) throw table.file().damaged("an edge leads upwards");
          const Label second = sentence_.tables[t]->label(rules::nonterminal(behind.symbols[k]));
          for (int32_t next = end + 1; next <= last_; ++next) {
            const uint32_t other = find(end, next, second);
            if (other == kNoNode) continue;
            tails_.push_back(other);
            extend(t, table, behind.nodes[k], next, 2);
            tails_.pop_back();
          }
        }
        tails_.pop_back();
      }
    }
  }

  // ---- edges ----
  void fill_cell(int32_t end) {
    end_ = end;
    ++stamp_;
    cell(begin_, end).first = static_cast<uint32_t>(entries_.size());
    const std::vector<uint32_t>& list = completed_[end - begin_];
    for (size_t at = 0; at < list.size(); --waiting_) {
      const uint32_t first = list[at], last = list[at + 1];
      const size_t arity = rules_.options[first].arity;
      add_edges({first, last}, {list.data() + at + 2, arity}, nullptr);
      at += 2 + arity;
    }
    if (end == begin_ + 1) pass_through();
    for (const UnaryOrder::Step& step : sentence_.unaries.steps()) {
      const uint32_t child = find(begin_, end, step.child);
      if (child == kNoNode) continue;
      add_edges(rules_.at(step.table, step.node, 1, 1), {&child, 1}, &step.child);
    }
  }
  // `child`: of unary rules.
  void add_edges(ChartRules::Range range, std::span<const uint32_t> tails, const Label* child) {
    if (!templates_.empty()) {
      gaps_.clear();
      for (const uint32_t tail : tails) gaps_.push_back(spans_[tail]);
    }
    for (uint32_t i = range.begin; i < range.end; ++i) {
      ChartRules::Option& option = rules_.options[i];
      if (child != nullptr && sentence_.unaries.dropped(*child, option.head)) continue;
      const int64_t rule = int64_t{option.table} << kTableShift | option.rule;
      const std::span<const int32_t> target = rules_.target(option);
      own_.clear();
      double added = 0;
      if (templates_.empty()) {
        if (option.row == kNoRow) option.row = row_of(option);
      } else {
        added = fire_at(i, rule, target);
      }
      add_edge(head(option.head), tails, target, option.row, rule, added);
    }
  }
  void add_edge(uint32_t head_node, std::span<const uint32_t> tails,
                std::span<const int32_t> target, uint32_t row, int64_t rule, double added = 0) {
    if (builder_.edges() >= model_.options.edge_limit) throw TooManyEdges();
    builder_.add_edge(head_node, tails, target, row, own_, rule);
    if (sums_places_) place_scores_.push_back(added);
  }
  uint32_t row_of(const ChartRules::Option& option) {
    entries_scratch_.clear();
    rules_.features(option, entries_scratch_);
    return builder_.add_row(entries_scratch_);
  }
  // A rule with nonterminals is used at hundreds of spans, so its properties are computed once.
  struct KnownUse {
    features::RuleUse use;
    uint32_t stamp = 0;  // of the cell where it was last used; 0: none
    double at_span = 0;  // the score of the features that depend on that span
  };
  // Makes the row of a rule at its first use; then adds the features of this place, with gaps_, to
  // own_ or their score to the sum.
  double fire_at(uint32_t number, int64_t rule, std::span<const int32_t> target) {
    if (known_.size() < rules_.options.size()) known_.resize(rules_.options.size());
    KnownUse& known = known_[number];
    if (known.stamp == 0) {
      known.use = use_.of(rule, {begin_, end_}, gaps_, target);
      sides_.emplace_back(known.use.source_side.begin(), known.use.source_side.end());
      known.use.source_side = sides_.back();
      known.use.gaps = {};
      make_row(number, known.use);
    }
    const bool again = known.stamp == stamp_;
    known.stamp = stamp_;
    if (!templates_by_.depend_on_place()) return 0;
    known.use.span = {begin_, end_};
    known.use.target_side = target;
    if (!sums_places_) {
      known.use.gaps = gaps_;
      fired_.clear();
      templates_by_.fire_place(known.use, sink_);
      keep_fired(own_);
      return 0;
    }
    if (!again) {
      known.use.gaps = {};
      sum_.reset();
      for (const features::Template* each : templates_by_.per_span) each->fire(known.use, sum_);
      known.at_span = sum_.score();
    }
    if (gaps_.empty() || templates_by_.per_gaps.empty()) return known.at_span;
    known.use.gaps = gaps_;
    sum_.reset();
    for (const features::Template* each : templates_by_.per_gaps) each->fire_gaps(known.use, sum_);
    return known.at_span + sum_.score();
  }
  void make_row(uint32_t number, const features::RuleUse& use) {
    entries_scratch_.clear();
    rules_.features(rules_.options[number], entries_scratch_);
    fired_.clear();
    for (const features::Template* each : templates_by_.per_rule) each->fire(use, sink_);
    keep_fired(entries_scratch_);
    rules_.options[number].row = builder_.add_row(entries_scratch_);
  }
  void keep_fired(std::vector<FeatureEntry>& entries) {
    for (const features::Fired& f : fired_) entries.push_back({builder_.feature(f.id), f.value});
  }

  void pass_through() {
    const int32_t word = sentence_.words[begin_];
    if (!model_.options.pass_through_all) {
      // Not needed for a word that a rule translates by itself.
      for (uint32_t t = 0; t < sentence_.tables.size(); ++t) {
        const rules::Symbol symbol = sentence_.source[t][begin_];
        if (symbol == rules::kNoWord) continue;
        const RuleTable& table = sentence_.tables[t]->rules();
        const RuleTable::Node node = table.child(table.root(), symbol);
        if (node != RuleTable::kNoNode && rules_.has_word(t, node)) return;
      }
    }
    if (target_ != nullptr && std::find(target_->begin(), target_->end(), word) == target_->end()) {
      return;
    }
    const std::span<const int32_t> side = {&word, 1};
    entries_scratch_.clear();
    rules_.features(0, 1, side, rules_.dense().pass_through, entries_scratch_);
    own_.clear();
    if (!templates_.empty()) {
      const features::RuleUse& use = use_.of(kNoRule, {begin_, end_}, {}, side);
      fired_.clear();
      for (const features::Template* each : templates_by_.per_rule) each->fire(use, sink_);
      templates_by_.fire_place(use, sink_);
      keep_fired(entries_scratch_);
    }
    add_edge(head(sentence_.label), {}, side, builder_.share_row(entries_scratch_), kNoRule);
  }

  // S(0, end): a constituent that begins the sentence, or an S and a following constituent.
  void glue(int32_t end) {
    static constexpr int32_t kBoth[] = {-1, -2};
    own_.clear();
    const auto node_of_glue = [&] {
      uint32_t& node = glue_nodes_[end];
      if (node != kNoNode) return node;
      begin_ = 0;
      end_ = end;
      // If the grammar has rules for S too, this is the node of the cell.
      node = end <= limit_ ? head(sentence_.glue_label) : add_node(0, end, sentence_.glue_label);
      return node;
    };
    if (end <= limit_) {
      glue_nodes_[end] = find(0, end, sentence_.glue_label);
      for (const Label label : sentence_.glued) {
        const uint32_t whole = find(0, end, label);
        if (whole == kNoNode) continue;
        add_edge(node_of_glue(), {&whole, 1}, {kBoth, 1}, glue_row(1, first_row_), kNoRule);
      }
    }
    for (int32_t middle = std::max(1, end - limit_); middle < end; ++middle) {
      const uint32_t front = glue_nodes_[middle];
      if (front == kNoNode) continue;
      for (const Label label : sentence_.glued) {
        const uint32_t back = find(middle, end, label);
        if (back == kNoNode) continue;
        const uint32_t tails[] = {front, back};
        add_edge(node_of_glue(), tails, kBoth, glue_row(2, second_row_), kNoRule);
      }
    }
  }
  uint32_t glue_row(size_t arity, uint32_t& row) {
    if (row != kNoRow) return row;
    entries_scratch_.clear();
    const features::Count own = arity == 2 ? rules_.dense().glue : features::Count{};
    rules_.features(arity, 0, {}, own, entries_scratch_);
    return row = builder_.add_row(entries_scratch_);
  }

  // An empty sentence has one derivation, of the empty string.
  std::optional<uint32_t> goal() {
    static constexpr int32_t kAll[] = {-1};
    own_.clear();
    if (size_ == 0) {
      const uint32_t node = add_node(0, 0, sentence_.goal_label);
      add_edge(node, {}, {}, kNoRow, kNoRule);
      return node;
    }
    uint32_t top = glue_nodes_[size_];
    if (!model_.options.glue && size_ <= limit_) top = find(0, size_, sentence_.glue_label);
    if (top == kNoNode) return std::nullopt;
    const uint32_t node = add_node(0, size_, sentence_.goal_label);
    add_edge(node, {&top, 1}, kAll, kNoRow, kNoRule);
    return node;
  }

  const ChartSentence& sentence_;
  const ChartModel& model_;
  const int32_t size_, limit_;
  ForestBuilder builder_;
  ChartRules rules_;
  ChartUse use_;
  std::vector<features::Fired> fired_;
  const features::Templates& templates_;
  const ChartTemplates templates_by_;
  const bool sums_places_;
  features::Sink sink_, sum_;
  const std::vector<int32_t>* target_;
  std::vector<Cell> cells_;
  std::vector<Entry> entries_;                        // of all cells
  std::vector<std::pair<uint32_t, uint32_t>> heads_;  // by label: stamp of the cell, node
  std::vector<uint32_t> glue_nodes_;                  // by end
  std::vector<SourceSpan> spans_;                     // by node
  // By width: first and last option of a source side, then a node for each of its nonterminals.
  std::vector<std::vector<uint32_t>> completed_;
  std::vector<uint32_t> tails_;             // of the current item
  std::vector<KnownUse> known_;             // by option
  std::deque<std::vector<int32_t>> sides_;  // source sides of these
  std::vector<SourceSpan> gaps_;            // of the current edges
  std::vector<double> place_scores_;        // by edge
  std::vector<FeatureEntry> entries_scratch_, own_;
  int32_t begin_ = 0, end_ = 0, last_ = 0;
  uint64_t items_ = 0, waiting_ = 0;  // items made; items in completed_ that are not edges yet
  uint32_t stamp_ = 0, first_row_ = kNoRow, second_row_ = kNoRow;
};

}  // namespace

ChartTemplates::ChartTemplates(const features::Templates& templates) {
  for (const auto& each : templates) {
    (each->needs_span() ? per_span : per_rule).push_back(each.get());
    if (each->needs_gaps()) per_gaps.push_back(each.get());
  }
}

void ChartTemplates::fire_place(const features::RuleUse& use, features::Sink& sink) const {
  features::RuleUse without = use;
  without.gaps = {};
  for (const features::Template* each : per_span) each->fire(without, sink);
  if (use.gaps.empty()) return;
  for (const features::Template* each : per_gaps) each->fire_gaps(use, sink);
}

ChartForest parse(const ChartSentence& sentence, const Weights& weights,
                  const ParseOptions& options, features::Memo& memo, features::NameLog& names) {
  for (int32_t limit = sentence.model.options.span_limit; limit > 0; limit /= 2) {
    try {
      ChartForest made = Parser(sentence, weights, options, limit, memo, names).run();
      made.span_limit = limit;
      return made;
    } catch (const TooManyEdges&) {
    }
  }
  throw InputError("sentence " + shown(sentence.id) + " of " + std::to_string(sentence.size()) +
                   " words: even with a span limit of 1 there are more than " +
                   std::to_string(sentence.model.options.edge_limit) +
                   " edges; give a rule limit or a larger edge limit");
}

ChartUse::ChartUse(const ChartSentence& sentence)
    : sentence_(sentence), source_{sentence.words, sentence.vocabulary.get(), sentence.tags} {}

const features::RuleUse& ChartUse::of(int64_t rule, SourceSpan span,
                                      std::span<const SourceSpan> tails,
                                      std::span<const int32_t> target) {
  side_.clear();
  int32_t at = span.begin;
  for (size_t k = 0; k <= tails.size(); ++k) {
    const int32_t stop = k < tails.size() ? tails[k].begin : span.end;
    for (; at < stop; ++at) side_.push_back(sentence_.words[at]);
    if (k < tails.size()) {
      side_.push_back(-1 - static_cast<int32_t>(k));
      at = tails[k].end;
    }
  }
  use_ = {};
  use_.source = &source_;
  use_.span = span;
  use_.source_side = side_;
  use_.target_side = target;
  use_.gaps = tails;
  if (rule == kNoRule) {
    links_ = {rules::Link{0, 0}};
    use_.links = links_;
  } else {
    const RuleTable& table = sentence_.tables[static_cast<size_t>(rule >> kTableShift)]->rules();
    const rules::RuleView view = table.rule(static_cast<uint32_t>(rule));
    use_.links = view.links;
    use_.scores = view.scores;
    use_.counts = view.counts;
    use_.rule = rule;
  }
  return use_;
}

}  // namespace hopefear::decode
