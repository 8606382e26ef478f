// Writes the nodes that search kept, with all their edges, as a forest.
//
// Numbers: nodes in the order of search (bin after bin, the start first), the goal last; edges by
// head. All of this is sorted already and the sizes are known, so the arrays are written directly:
// ForestBuilder would copy and sort them again, a third of the time of a fast search.
//
// With a `summed` feature the features of templates are replaced by their score under the weights,
// the value of that feature, for decoding without learning their weights. Writing all features
// takes a third of the time of decoding with MAXFORCE's templates (Bible zh-en, beam 100).
#include <algorithm>
#include <stdexcept>

#include "base/id_numbers.hpp"
#include "decode/phrase_decoder.hpp"
#include "forest/builder.hpp"

namespace hopefear::decode {
namespace {

class ForestWriter {
 public:
  ForestWriter(const PhraseModel& model, const OptionTable& options, const SearchGraph& graph,
               features::NameLog* log, features::Memo& memo, FeatureId summed)
      : model_(model),
        options_(options),
        graph_(graph),
        out_(std::make_shared<ForestStorage>()),
        rows_(options.size(), kNoRow),
        log_(log),
        memo_(memo),
        summed_(summed),
        sink_(memo, summed == 0 ? &fired_ : nullptr, summed == 0 ? log : nullptr),
        after_(model.state_size()) {}

  Forest write(const std::string& id, std::shared_ptr<FeatureNames> names) {
    start();
    for (const SearchBin& bin : graph_.bins) {
      for (uint32_t i = 0; i < bin.nodes.size(); ++i) add_node(bin, i);
    }
    const uint32_t goal = add_goal();
    const std::shared_ptr<const ForestStorage> done = out_;
    return Forest(view_of(*done), done, goal, id, options_.vocabulary(), std::move(names));
  }

 private:
  // Accumulators: the next column of an edge, and its own list.
  auto to_edge() {
    return features::Recorder{[this](uint32_t, float value) { out_->edge_dense.push_back(value); }};
  }
  auto to_own() {
    return features::Recorder{[this](uint32_t number, float value) { own(number, value); }};
  }

  void start() {
    ForestStorage& f = *out_;
    f.coverage_begin = f.tail_begin = f.target_begin = f.own_begin = f.row_begin =
        f.node_edges = {0};
    f.feature_ids.assign(model_.ids().begin(), model_.ids().end());
    if (summed_ != 0) f.feature_ids.push_back(summed_);
    const features::PhraseFeatures& dense = model_.dense();
    for (const features::LanguageModel& lm : dense.lms) f.edge_columns.push_back(lm.number);
    if (dense.distortion.present()) f.edge_columns.push_back(dense.distortion.number);
    f.row_columns = dense.translation.numbers;
    for (const features::Count& count : {dense.words, dense.phrases}) {
      if (count.present()) f.row_columns.push_back(count.number);
    }
    for (const features::Count& count : dense.lm_unknown) {
      if (count.present()) f.row_columns.push_back(count.number);
    }
    column_of_.assign(model_.names().size(), kNoColumn);
    for (size_t c = 0; c < f.row_columns.size(); ++c) column_of_[f.row_columns[c]] = c;
    size_t nodes = 1, edges = 1;
    for (const SearchBin& bin : graph_.bins) {
      nodes += bin.nodes.size();
      edges += bin.edges.size();
    }
    edges += graph_.bins.back().nodes.size();
    const size_t width = graph_.coverage.words(0).size();
    f.node_edges.reserve(nodes + 1);
    f.covered.reserve(nodes);
    f.spans.reserve(2 * nodes);
    f.symbols.reserve(nodes);
    f.coverage_begin.reserve(nodes + 1);
    f.coverage.reserve(nodes * width);
    f.heads.reserve(edges);
    f.tail_begin.reserve(edges + 1);
    f.tails.reserve(edges);
    f.target_begin.reserve(edges + 1);
    f.target.reserve(4 * edges);
    f.rows.reserve(edges);
    f.rules.reserve(edges);
    f.own_begin.reserve(edges + 1);
    f.edge_dense.reserve(edges * f.edge_columns.size());
    const size_t own = dense.reordering.directions();
    f.own_features.reserve(own * edges);
    f.own_values.reserve(own * edges);
  }

  void label(uint32_t covered, int32_t begin, int32_t end, std::span<const uint64_t> coverage) {
    ForestStorage& f = *out_;
    f.covered.push_back(covered);
    f.spans.push_back(begin);
    f.spans.push_back(end);
    f.symbols.push_back(-1);
    f.coverage.insert(f.coverage.end(), coverage.begin(), coverage.end());
    f.coverage_begin.push_back(offset(f.coverage.size()));
  }

  // Offsets are 32 bits wide; a forest of that size would take tens of gigabytes.
  static uint32_t offset(size_t size) {
    if (size >= 0xffffffffu) throw std::invalid_argument("forest with 2^32 entries or more");
    return static_cast<uint32_t>(size);
  }

  // Not inlined, so that the compiler inlines the callers' pushes instead.
  [[gnu::noinline]] void add_node(const SearchBin& bin, uint32_t i) {
    ForestStorage& f = *out_;
    const SearchNode& node = bin.nodes[i];
    const uint32_t head = bin.first + i;
    const CoverageTable& sets = graph_.coverage;
    label(static_cast<uint32_t>(sets.count(node.coverage)), node.begin, node.end,
          sets.words(node.coverage));
    if (head == 0) {  // the start: an edge without target words and features
      f.spans = {-1, -1};
      add_edge(head, {}, {}, kNoRow, kNoRule);
      fill_columns();
      close_edge();
    }
    const size_t width = model_.lms().size() + graph_.scores;
    for (uint32_t e = bin.edges_begin[i]; e < bin.edges_begin[i + 1]; ++e) {
      const SearchEdge& edge = bin.edges[e];
      const PhraseOption& o = options_.option(edge.option);
      const auto [tail_bin, tail] = find(edge.tail, bin, o);
      add_edge(head, {&edge.tail, 1}, options_.edge_target(o), row_of(edge.option), o.rule);
      for (size_t l = 0; l < model_.lms().size(); ++l) {
        f.edge_dense.push_back(bin.values[e * width + l]);
      }
      add_jump(tail_bin->nodes[tail], o);
      if (graph_.scores) {
        own(summed_feature(), bin.values[e * width + width - 1]);
      } else if (!model_.stateful().empty()) {
        options_.step_templates(o, state_of(*tail_bin, tail), sink_, after_.data());
        add_fired();
      }
      close_edge();
    }
    f.node_edges.push_back(offset(f.heads.size()));
  }

  // The bin and index of the tail of an edge to `head` by this option.
  std::pair<const SearchBin*, uint32_t> find(uint32_t number, const SearchBin& head,
                                             const PhraseOption& o) const {
    const size_t bin =
        static_cast<size_t>(&head - graph_.bins.data()) - static_cast<size_t>(o.end - o.begin);
    const SearchBin& found = graph_.bins[bin];
    return {&found, number - found.first};
  }

  uint32_t add_goal() {
    ForestStorage& f = *out_;
    const SearchBin& last = graph_.bins.back();
    const uint32_t goal = offset(f.covered.size());
    const uint32_t final_coverage = last.nodes.empty() ? 0 : last.nodes.front().coverage;
    const size_t covered = graph_.bins.size() - 1;
    label(static_cast<uint32_t>(covered), 0, static_cast<int32_t>(covered),
          graph_.coverage.words(final_coverage));
    constexpr int32_t kSlot[1] = {-1};
    for (uint32_t i = 0; i < last.nodes.size(); ++i) {
      const uint32_t tail = last.first + i;
      add_edge(goal, {&tail, 1}, kSlot, kNoRow, kNoRule);
      if (!graph_.sentence) {
        fill_columns();
        close_edge();
        continue;
      }
      const std::byte* const state = state_of(last, i);
      for (size_t l = 0; l < model_.lms().size(); ++l) {
        model_.lms()[l].end(features::LanguageModel::context_in(state, l), to_edge());
      }
      fill_columns();
      for (const PhraseModel::Stateful& s : model_.stateful()) {
        s.feature->finish(options_.source(), state + s.offset, true, sink_);
      }
      if (summed_ == 0) {
        add_fired();
      } else {
        own(summed_feature(), static_cast<float>(sink_.score()));
        sink_.reset();
      }
      close_edge();
    }
    f.node_edges.push_back(offset(f.heads.size()));
    return goal;
  }

  const std::byte* state_of(const SearchBin& bin, uint32_t i) const {
    return bin.states.data() + i * graph_.state_size;
  }

  void add_edge(uint32_t head, std::span<const uint32_t> tails, std::span<const int32_t> target,
                uint32_t row, int64_t rule) {
    ForestStorage& f = *out_;
    f.heads.push_back(head);
    f.tails.insert(f.tails.end(), tails.begin(), tails.end());
    f.tail_begin.push_back(offset(f.tails.size()));
    f.target.insert(f.target.end(), target.begin(), target.end());
    f.target_begin.push_back(offset(f.target.size()));
    f.rows.push_back(row);
    f.rules.push_back(rule);
  }

  void close_edge() { out_->own_begin.push_back(offset(out_->own_features.size())); }
  // 0 in the columns that have no value yet.
  void fill_columns() {
    out_->edge_dense.resize(out_->heads.size() * out_->edge_columns.size(), 0);
  }

  void own(uint32_t feature, float value) {
    if (value == 0) return;
    out_->own_features.push_back(feature);
    out_->own_values.push_back(value);
  }

  void add_jump(const SearchNode& last, const PhraseOption& o) {
    const features::PhraseFeatures& dense = model_.dense();
    dense.distortion.jump(last.end, graph_.coverage.first_gap(last.coverage), o.begin, o.end,
                          to_edge());
    const features::Orientation by = PhraseSearch::orientation(last, o.begin, o.end);
    dense.reordering.backward(options_.reordering(o), by, to_own());
    dense.reordering.forward(options_.forward(last.forward), by, to_own());
  }

  uint32_t row_of(uint32_t option) {
    if (rows_[option] != kNoRow) return rows_[option];
    ForestStorage& f = *out_;
    const size_t row = f.row_dense.size();
    f.row_dense.resize(row + f.row_columns.size(), 0);
    scratch_.clear();
    options_.add_dense(option, features::Recorder{[&](uint32_t number, float value) {
                         if (column_of_[number] == kNoColumn) {
                           scratch_.push_back({number, value});
                         } else {
                           f.row_dense[row + column_of_[number]] = value;
                         }
                       }});
    if (summed_ != 0) {
      const double score = options_.option(option).fired_score;
      scratch_.push_back({summed_feature(), static_cast<float>(score)});
    } else {
      add_fired_by(option);
    }
    append(f.row_features, f.row_values);
    f.row_begin.push_back(offset(f.row_features.size()));
    return rows_[option] = static_cast<uint32_t>(f.row_begin.size() - 2);
  }

  // Writes the features of stateless templates to scratch_, and logs new names.
  void add_fired_by(uint32_t option) {
    const std::vector<FeatureId>& ids = out_->feature_ids;
    bool named = true;
    for (const features::Fired& fired : options_.fired(option)) {
      const size_t before = ids.size();
      scratch_.push_back({local(fired.id), fired.value});
      if (ids.size() > before) named = named && (log_ == nullptr || log_->has(fired.id));
    }
    if (!named) name_fired(model_, options_, option, memo_, *log_);
  }

  // Writes the features of stateful templates after the edge's own features.
  void add_fired() {
    if (fired_.empty()) return;
    scratch_.clear();
    for (const features::Fired& fired : fired_) scratch_.push_back({local(fired.id), fired.value});
    fired_.clear();
    append(out_->own_features, out_->own_values);
  }

  // Appends scratch_, equal features summed.
  void append(std::vector<uint32_t>& features, std::vector<float>& values) {
    sort_by_feature(scratch_);
    const size_t first = features.size();
    for (const FeatureEntry& entry : scratch_) {
      if (features.size() > first && features.back() == entry.feature) {
        values.back() += entry.value;
      } else {
        features.push_back(entry.feature);
        values.push_back(entry.value);
      }
    }
  }

  uint32_t local(FeatureId id) {
    if (numbers_.empty()) {
      for (size_t i = 0; i < model_.ids().size(); ++i) {
        numbers_.try_emplace(model_.ids()[i], static_cast<uint32_t>(i));
      }
    }
    const auto [number, is_new] =
        numbers_.try_emplace(id, static_cast<uint32_t>(out_->feature_ids.size()));
    if (is_new) out_->feature_ids.push_back(id);
    return number;
  }

  uint32_t summed_feature() const { return static_cast<uint32_t>(model_.ids().size()); }

  const PhraseModel& model_;
  const OptionTable& options_;
  const SearchGraph graph_;
  std::shared_ptr<ForestStorage> out_;
  static constexpr size_t kNoColumn = ~size_t{0};
  std::vector<size_t> column_of_;  // by dense feature: its column in rows
  std::vector<uint32_t> rows_;     // by option
  IdNumbers numbers_;              // filled when a template first fires
  std::vector<features::Fired> fired_;
  features::NameLog* log_;  // null: log no names
  features::Memo& memo_;
  const FeatureId summed_;  // 0: none, write all features
  features::Sink sink_;     // into fired_
  std::vector<FeatureEntry> scratch_;
  std::vector<std::byte> after_;
};

}  // namespace

Forest make_forest(const PhraseModel& model, const OptionTable& options, const SearchGraph& graph,
                   const std::string& id, std::shared_ptr<FeatureNames> names,
                   features::NameLog* log, features::Memo& memo, FeatureId summed) {
  return ForestWriter(model, options, graph, log, memo, summed).write(id, std::move(names));
}

}  // namespace hopefear::decode
