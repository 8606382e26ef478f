#include "rules/table_writer.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace hopefear::rules {

TableWriter::TableWriter(Columns columns, const std::string& scratch)
    : columns_(std::move(columns)),
      path_(1),
      nodes_(scratch),
      edge_symbols_(scratch),
      edge_nodes_(scratch),
      entries_(scratch),
      counts_(scratch),
      scores_(scratch),
      bodies_(scratch),
      sparse_at_(scratch),
      sparse_(scratch),
      fragment_at_(scratch),
      fragments_(scratch) {
  layout_.columns = static_cast<uint32_t>(columns_.size());
  layout_.reordering = columns_.reordering;
}

void TableWriter::add(const RuleView& rule) {
  if (rule.source.size() > 255 || rule.target.size() > 255 || rule.links.size() > 65535) {
    throw std::logic_error("a rule is too long for the table");
  }
  if (rules_ == 0xfffffffe) {
    throw InputError("a rule table holds at most 4,294,967,294 rules; filter or limit them");
  }
  size_t common = 0;
  while (common < rule.source.size() && common + 1 < path_.size() &&
         path_[common + 1].symbol == rule.source[common]) {
    ++common;
  }
  while (path_.size() > common + 1) close_last();
  for (size_t i = common; i < rule.source.size(); ++i) {
    path_.emplace_back();
    path_.back().symbol = rule.source[i];
  }
  Open& node = path_.back();
  if (node.rule_count == 0) {
    node.first_rule = static_cast<uint32_t>(rules_);
    ++layout_.source_sides;
  } else if (node.first_rule + node.rule_count != rules_) {
    throw std::logic_error("the rules of a source side must be contiguous");
  }
  ++node.rule_count;
  ++rules_;
  layout_.longest_source =
      std::max(layout_.longest_source, static_cast<uint32_t>(rule.source.size()));
  layout_.longest_target =
      std::max(layout_.longest_target, static_cast<uint32_t>(rule.target.size()));
  if (rule.sentence != kManySentences) ++layout_.one_sentence;

  add_sparse(rule.sparse);
  add_fragment(rule.fragment);

  RuleEntry entry = {};
  entry.body = body_;
  entry.sentence = rule.sentence;
  entry.label = rule.label;
  entry.source_size = static_cast<uint8_t>(rule.source.size());
  entry.arity = static_cast<uint8_t>(std::ranges::count_if(rule.source, is_nonterminal));
  entry.target_size = static_cast<uint8_t>(rule.target.size());
  entry.links = static_cast<uint16_t>(rule.links.size());
  put<RuleEntry>(entries_, {&entry, 1});
  put<Counts>(counts_, {&rule.counts, 1});
  put<float>(scores_, rule.scores);
  put<Symbol>(bodies_, rule.target);
  put<Link>(bodies_, rule.links);
  body_ += 2 * rule.target.size() + rule.links.size();
  if (body_ % 2 != 0) {  // symbols are read in place, so each body begins at four bytes
    put<Link>(bodies_, std::vector<Link>{{0, 0}});
    ++body_;
  }
}

// Tables without sparse scores (most tables) have no offsets for them either.
void TableWriter::add_sparse(std::span<const SparseScore> scores) {
  const uint64_t at = sparse_.size() / sizeof(SparseScore);
  if (at == 0 && scores.empty()) return;
  const uint64_t zero = 0;
  while (sparse_at_.size() / sizeof(at) + 1 < rules_) put<uint64_t>(sparse_at_, {&zero, 1});
  put<uint64_t>(sparse_at_, {&at, 1});
  put<SparseScore>(sparse_, scores);
}

// Likewise.
void TableWriter::add_fragment(std::span<const uint16_t> fragment) {
  const uint64_t at = fragments_.size() / sizeof(uint16_t);
  if (at == 0 && fragment.empty()) return;
  const uint64_t zero = 0;
  while (fragment_at_.size() / sizeof(at) + 1 < rules_) put<uint64_t>(fragment_at_, {&zero, 1});
  put<uint64_t>(fragment_at_, {&at, 1});
  put<uint16_t>(fragments_, fragment);
}

void TableWriter::close_last() {
  Open node = std::move(path_.back());
  path_.pop_back();
  std::sort(node.edges.begin(), node.edges.end(),
            [](const Edge& a, const Edge& b) { return a.symbol < b.symbol; });
  const TrieNode written = {static_cast<uint32_t>(edge_count_),
                            static_cast<uint32_t>(node.edges.size()), node.first_rule,
                            node.rule_count};
  for (size_t i = 0; i < node.edges.size(); ++i) {
    if (i > 0 && node.edges[i - 1].symbol == node.edges[i].symbol) {
      throw std::logic_error("source sides with a common prefix must be contiguous");
    }
    put<Symbol>(edge_symbols_, {&node.edges[i].symbol, 1});
    put<RuleTable::Node>(edge_nodes_, {&node.edges[i].node, 1});
  }
  edge_count_ += node.edges.size();
  if (edge_count_ >= 0xfffffffe) {
    throw InputError("a rule table holds at most 4,294,967,293 edges of source sides; filter it");
  }
  put<TrieNode>(nodes_, {&written, 1});
  if (!path_.empty()) {
    path_.back().edges.push_back({node.symbol, static_cast<RuleTable::Node>(node_count_)});
  }
  ++node_count_;
}

void TableWriter::copy(BinaryWriter& writer, const char* section, ScratchStream& stream) {
  writer.begin(section);
  stream.rewind();
  std::vector<char> buffer(size_t{1} << 18);
  for (uint64_t left = stream.size(); left > 0;) {
    const size_t n = std::min<uint64_t>(buffer.size(), left);
    stream.read(buffer.data(), n);
    writer.append(buffer.data(), n);
    left -= n;
    poll_interrupt();
  }
}

void TableWriter::write(BinaryWriter& writer, const Names& names, std::string_view info) {
  while (!path_.empty()) close_last();
  writer.begin("columns");
  for (const std::string& name : columns_.names) {
    writer.append(name.data(), name.size());
    writer.append("\n", 1);
  }
  writer.add<TableLayout>("layout", {&layout_, 1});
  write_words(writer, "source", names.source_words);
  write_words(writer, "target", names.target_words);
  write_words(writer, "label", names.labels);
  copy(writer, "nodes", nodes_);
  copy(writer, "edge.symbol", edge_symbols_);
  copy(writer, "edge.node", edge_nodes_);
  copy(writer, "rules", entries_);
  copy(writer, "counts", counts_);
  copy(writer, "scores", scores_);
  copy(writer, "bodies", bodies_);
  writer.add<char>("info", {info.data(), info.size()});
  if (const uint64_t sparse = sparse_.size() / sizeof(SparseScore); sparse > 0) {
    put<uint64_t>(sparse_at_, {&sparse, 1});
    copy(writer, "sparse.places", sparse_at_);
    copy(writer, "sparse.score", sparse_);
    write_words(writer, "sparse", names.sparse);
  }
  if (const uint64_t tokens = fragments_.size() / sizeof(uint16_t); tokens > 0) {
    put<uint64_t>(fragment_at_, {&tokens, 1});
    copy(writer, "fragment.places", fragment_at_);
    copy(writer, "fragments", fragments_);
  }
}

void TableWriter::finish(const std::string& path, const Names& names, std::string_view info) {
  BinaryWriter writer(path, kRulesKind);
  write(writer, names, info);
  writer.finish();
}

RuleTable TableWriter::finish_in_memory(std::string name, const Names& names,
                                        std::string_view info) {
  BinaryWriter writer(kRulesKind);
  write(writer, names, info);
  return RuleTable::from_memory(writer.finish_in_memory(), std::move(name));
}

}  // namespace hopefear::rules
