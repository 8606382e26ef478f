#include "rules/rule_table.hpp"

#include <algorithm>
#include <cstring>

#include "base/feature_name.hpp"

namespace hopefear::rules {
namespace {

// A body: target symbols (4 bytes each), then links (2 bytes each), in units of two bytes.
static_assert(sizeof(Link) == 2 && sizeof(Counts) == 12);

}  // namespace

RuleTable RuleTable::open(const std::string& path) {
  return RuleTable(BinaryFile::open(path, kRulesKind));
}

RuleTable RuleTable::from_memory(std::vector<char> bytes, std::string name) {
  return RuleTable(BinaryFile::from_memory(std::move(bytes), std::move(name), kRulesKind));
}

RuleTable::RuleTable(BinaryFile file)
    : file_(std::move(file)),
      source_words_(file_, "source"),
      target_words_(file_, "target"),
      labels_(file_, "label"),
      nodes_(file_.section<TrieNode>("nodes")),
      edge_symbols_(file_.section<Symbol>("edge.symbol")),
      edge_nodes_(file_.section<Node>("edge.node", edge_symbols_.size())),
      entries_(file_.section<RuleEntry>("rules")),
      counts_(file_.section<Counts>("counts", entries_.size())),
      bodies_(file_.section<uint16_t>("bodies")) {
  layout_ = file_.section<TableLayout>("layout", 1)[0];
  scores_ = file_.section<float>("scores", entries_.size() * layout_.columns);
  const std::span<const char> names = file_.section<char>("columns");
  for_each_word({names.data(), names.size()}, "\n", [&](std::string_view name) {
    if (!is_feature_name(name)) {
      throw file_.damaged("the name of a column is " + shown(name) +
                          ", not UTF-8 or with control characters");
    }
    columns_.names.emplace_back(name);
  });
  columns_.reordering = layout_.reordering;
  const bool columns_fit = columns_.size() == layout_.columns &&
                           layout_.reordering <= layout_.columns &&
                           layout_.reordering <= kMostReorderingColumns;
  if (!columns_fit) throw file_.damaged("the columns do not fit their names");
  if (file_.has("sparse.score")) {
    sparse_names_ = WordList(file_, "sparse");
    sparse_at_ = file_.section<uint64_t>("sparse.places", entries_.size() + 1);
    sparse_ = file_.section<SparseScore>("sparse.score");
  }
  if (file_.has("fragments")) {
    fragment_at_ = file_.section<uint64_t>("fragment.places", entries_.size() + 1);
    fragments_ = file_.section<uint16_t>("fragments");
  }
  if (nodes_.empty() || nodes_.size() >= kNoNode) throw file_.damaged("no root");
  // The longest source side limits the depth of walks, and no rule has more than 255 symbols.
  if (layout_.longest_source > 255) throw file_.damaged("a source side is too long");
}

RuleTable::Edges RuleTable::edges(Node node) const {
  if (node >= nodes_.size()) throw file_.damaged("a node is out of range");
  const TrieNode& entry = nodes_[node];
  if (uint64_t{entry.edges} + entry.edge_count > edge_symbols_.size()) {
    throw file_.damaged("the edges of a node are out of range");
  }
  return {edge_symbols_.subspan(entry.edges, entry.edge_count),
          edge_nodes_.subspan(entry.edges, entry.edge_count)};
}

RuleTable::Node RuleTable::child(Node node, Symbol symbol) const {
  const Edges out = edges(node);
  const auto found = std::lower_bound(out.symbols.begin(), out.symbols.end(), symbol);
  if (found == out.symbols.end() || *found != symbol) return kNoNode;
  const Node next = out.nodes[static_cast<size_t>(found - out.symbols.begin())];
  if (next >= node) throw file_.damaged("an edge leads upwards");
  return next;
}

RuleTable::Range RuleTable::rules(Node node) const {
  if (node >= nodes_.size()) throw file_.damaged("a node is out of range");
  const TrieNode& entry = nodes_[node];
  if (uint64_t{entry.rules} + entry.rule_count > entries_.size()) {
    throw file_.damaged("the rules of a node are out of range");
  }
  return {entry.rules, entry.rules + entry.rule_count};
}

RuleView RuleTable::rule(uint32_t number) const {
  if (number >= entries_.size()) throw file_.damaged("a rule is out of range");
  const RuleEntry& entry = entries_[number];
  const uint64_t units = uint64_t{2} * entry.target_size + entry.links;
  if (entry.body > bodies_.size() || bodies_.size() - entry.body < units || entry.body % 2 != 0) {
    throw file_.damaged("the body of a rule is out of range");
  }
  const uint16_t* body = bodies_.data() + entry.body;
  RuleView view;
  view.target = {reinterpret_cast<const Symbol*>(body), entry.target_size};
  view.links = {reinterpret_cast<const Link*>(body + 2 * size_t{entry.target_size}), entry.links};
  view.scores = scores(number);
  view.counts = counts_[number];
  view.sentence = entry.sentence;
  view.label = entry.label;
  view.source_size = entry.source_size;
  view.arity = entry.arity;
  view.sparse = sparse(number);
  bool good = entry.label == kNoLabel || entry.label < labels_.size();
  for (const Symbol symbol : view.target) {
    good &=
        is_nonterminal(symbol) ? nonterminal(symbol) < entry.arity : symbol < target_words_.size();
  }
  for (const Link& link : view.links) {
    good &= link.target < entry.target_size && link.source < entry.source_size;
  }
  if (!good) throw file_.damaged("a word or link of a rule is out of range");
  if (!all_finite(view)) throw file_.damaged("a score is not finite");
  return view;
}

std::span<const Symbol> RuleTable::target(uint32_t number) const {
  if (number >= entries_.size()) throw file_.damaged("a rule is out of range");
  const RuleEntry& entry = entries_[number];
  const uint64_t units = uint64_t{2} * entry.target_size;
  if (entry.body > bodies_.size() || bodies_.size() - entry.body < units || entry.body % 2 != 0) {
    throw file_.damaged("the body of a rule is out of range");
  }
  return {reinterpret_cast<const Symbol*>(bodies_.data() + entry.body), entry.target_size};
}

std::span<const float> RuleTable::scores(uint32_t number) const {
  if (number >= entries_.size()) throw file_.damaged("a rule is out of range");
  return scores_.subspan(size_t{number} * layout_.columns, layout_.columns);
}

std::span<const SparseScore> RuleTable::sparse(uint32_t number) const {
  if (sparse_at_.empty()) return {};
  if (number >= entries_.size()) throw file_.damaged("a rule is out of range");
  const uint64_t begin = sparse_at_[number], end = sparse_at_[number + 1];
  if (begin > end || end > sparse_.size()) {
    throw file_.damaged("the sparse scores of a rule are out of range");
  }
  const std::span<const SparseScore> scores = sparse_.subspan(begin, end - begin);
  for (const SparseScore& score : scores) {
    if (score.feature >= sparse_names_.size()) throw file_.damaged("a sparse score has no name");
  }
  return scores;
}

std::span<const uint16_t> RuleTable::fragment(uint32_t number) const {
  if (fragment_at_.empty()) return {};
  if (number >= entries_.size()) throw file_.damaged("a rule is out of range");
  const uint64_t begin = fragment_at_[number], end = fragment_at_[number + 1];
  if (begin > end || end > fragments_.size()) {
    throw file_.damaged("the fragment of a rule is out of range");
  }
  const std::span<const uint16_t> fragment = fragments_.subspan(begin, end - begin);
  if (fragment.empty()) return fragment;
  size_t open = 0, leaves = 0;
  bool good = true;
  for (size_t i = 0; i < fragment.size() && good; ++i) {
    if (fragment[i] == kFragmentLeaf) {
      good = open > 0;
      ++leaves;
    } else if (fragment[i] == kFragmentClose) {
      good = open > 0 && (--open > 0 || i + 1 == fragment.size());
    } else {
      good = fragment[i] < labels_.size();
      ++open;
    }
  }
  if (!good || open > 0 || leaves != entries_[number].target_size) {
    throw file_.damaged("the fragment of a rule is not a piece of tree");
  }
  return fragment;
}

std::optional<size_t> RuleTable::column(std::string_view name) const {
  const auto found = std::find(columns_.names.begin(), columns_.names.end(), name);
  if (found == columns_.names.end()) return std::nullopt;
  return static_cast<size_t>(found - columns_.names.begin());
}

Symbol RuleTable::source_words_end() const {
  size_t low = 0, high = source_words_.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (word_less(source_words_.word(static_cast<Word>(middle)), "|||")) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return static_cast<Symbol>(low);
}

std::string_view RuleTable::info() const {
  const std::span<const char> text = file_.section<char>("info");
  return {text.data(), text.size()};
}

}  // namespace hopefear::rules
