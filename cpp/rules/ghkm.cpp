#include "rules/ghkm.hpp"

#include <algorithm>
#include <numeric>

#include "base/interrupt.hpp"

namespace hopefear::rules {
namespace {

constexpr uint32_t kNowhere = 0xffffffff;

}  // namespace

void GhkmExtractor::operator()(const SentencePair& pair, const syntax::Tree& tree,
                               const std::function<void(const GhkmOccurrence&)>& visit) {
  truncated_ = 0;
  if (tree.empty() || pair.points.empty()) return;
  pair_ = &pair;
  tree_ = &tree;
  items_.clear();
  item_numbers_.clear();
  rules_.clear();
  order_.clear();
  prepare();
  const uint32_t top = item(0, 0, static_cast<uint32_t>(pair.source.size()));
  derive(top);
  // Rules are composed from the leaves up: an item is derived before the items below it.
  for (size_t i = order_.size(); i-- > 0;) compose(order_[i]);
  // Rules with the same piece of tree differ in the source words that they include.
  std::map<std::vector<uint32_t>, uint32_t> ways;
  std::vector<uint32_t> key;
  const auto key_of = [&](const Item& from, const Rule& rule) {
    key = {from.node};
    for (const uint32_t open : rule.open) key.push_back(items_[open].node);
  };
  if (options_.all && options_.fractional) {
    for (const Item& from : items_) {
      for (const uint32_t rule : from.rules) {
        key_of(from, rules_[rule]);
        ++ways[key];
      }
    }
  }
  for (const uint32_t number : order_) {
    for (const uint32_t rule : items_[number].rules) {
      if (!fill(number, rules_[rule])) continue;
      occurrence_.count = 1;
      if (options_.all && options_.fractional) {
        key_of(items_[number], rules_[rule]);
        occurrence_.count = 1.0 / ways[key];
      }
      visit(occurrence_);
    }
    poll_interrupt();
  }
}

void GhkmExtractor::prepare() {
  const size_t source = pair_->source.size(), target = pair_->target.size();
  const size_t nodes = tree_->nodes.size();
  aligned_.assign(source, false);
  low_.assign(source, kNowhere);
  high_.assign(source, 0);
  by_target_ = pair_->points;
  std::ranges::sort(by_target_, [](const Point& a, const Point& b) {
    return a.target != b.target ? a.target < b.target : a.source < b.source;
  });
  target_begin_.assign(target + 1, 0);
  for (const Point& point : by_target_) {
    aligned_[point.source] = true;
    low_[point.source] = std::min(low_[point.source], point.target);
    high_[point.source] = std::max(high_[point.source], point.target);
    ++target_begin_[point.target + 1];
  }
  std::partial_sum(target_begin_.begin(), target_begin_.end(), target_begin_.begin());
  place_.assign(source, kNowhere);
  attached_.assign(nodes, false);
  if (!options_.all) attach();

  const size_t width = source / 64 + 1;
  spans_.assign(nodes * width, 0);
  const auto set = [&](size_t node, uint32_t word) {
    spans_[node * width + word / 64] |= uint64_t{1} << (word % 64);
  };
  for (uint32_t word = 0; word < source; ++word) {
    if (place_[word] != kNowhere) set(place_[word], word);
  }
  first_.assign(nodes, kNowhere);
  last_.assign(nodes, 0);
  for (size_t node = nodes; node-- > 0;) {
    const syntax::TreeNode& entry = tree_->nodes[node];
    if (tree_->preterminal(static_cast<uint32_t>(node))) {
      for (uint32_t i = target_begin_[entry.begin]; i < target_begin_[entry.end]; ++i) {
        set(node, by_target_[i].source);
      }
    }
    for (uint32_t word = 0; word < source; ++word) {
      if ((spans_[node * width + word / 64] >> (word % 64) & 1) == 0) continue;
      first_[node] = std::min(first_[node], word);
      last_[node] = word + 1;
    }
    if (entry.parent == syntax::kNoParent) continue;
    for (size_t i = 0; i < width; ++i) {
      spans_[entry.parent * width + i] |= spans_[node * width + i];
    }
  }
  frontier_.assign(nodes, false);
  for (uint32_t node = 0; node < nodes; ++node) {
    if (first_[node] == kNowhere) continue;
    const syntax::TreeNode& entry = tree_->nodes[node];
    bool good = true;
    for (uint32_t word = first_[node]; word < last_[node] && good; ++word) {
      if (aligned_[word]) {
        good = low_[word] >= entry.begin && high_[word] < entry.end;
      } else if (place_[word] != kNowhere) {
        good = place_[word] >= node && place_[word] < entry.next;
      }
    }
    if (good && !options_.unary && entry.parent != syntax::kNoParent) {
      good = !std::equal(spans_.begin() + static_cast<ptrdiff_t>(node * width),
                         spans_.begin() + static_cast<ptrdiff_t>((node + 1) * width),
                         spans_.begin() + static_cast<ptrdiff_t>(entry.parent * width));
    }
    frontier_[node] = good;
  }
  pieces_.resize(std::max(pieces_.size(), nodes));
  for (size_t node = 0; node < nodes; ++node) pieces_[node].known = false;
  open_.assign(nodes, 0);
}

// As Moses does: to the lowest node that covers all words aligned to the next aligned source words
// on both sides; at an end of the sentence to the root.
void GhkmExtractor::attach() {
  const auto size = static_cast<uint32_t>(pair_->source.size());
  for (uint32_t word = 0; word < size; ++word) {
    if (aligned_[word]) continue;
    uint32_t left = word, right = word + 1;
    while (left > 0 && !aligned_[left - 1]) --left;
    while (right < size && !aligned_[right]) ++right;
    uint32_t node = 0;
    if (left > 0 && right < size) {
      const uint32_t begin = std::min(low_[left - 1], low_[right]);
      const uint32_t end = std::max(high_[left - 1], high_[right]) + 1;
      for (uint32_t child = node + 1; child < tree_->nodes[node].next;) {
        const syntax::TreeNode& entry = tree_->nodes[child];
        if (entry.begin <= begin && end <= entry.end) {
          node = child++;
        } else {
          child = entry.next;
        }
      }
    }
    place_[word] = node;
    attached_[node] = true;
  }
}

const GhkmExtractor::Piece& GhkmExtractor::piece(uint32_t node) {
  Piece& made = pieces_[node];
  if (made.known) return made;
  made = {};
  made.known = true;
  // Nodes of the piece in pre-order, each with the number of nodes above it.
  std::vector<std::pair<uint32_t, uint32_t>> above;  // end of a node's subtree, its level
  for (uint32_t at = node; at < tree_->nodes[node].next;) {
    while (!above.empty() && above.back().first <= at) above.pop_back();
    const uint32_t level = above.empty() ? 0 : above.back().second;
    ++made.nodes;
    if (at != node && frontier_[at]) {
      made.open.push_back(at);
      made.levels.push_back(level);
      at = tree_->nodes[at].next;
      continue;
    }
    if (phrase(at)) {
      ++made.size;
      made.depth = std::max(made.depth, level + 1);
    }
    above.emplace_back(tree_->nodes[at].next, level + 1);
    ++at;
  }
  return made;
}

uint32_t GhkmExtractor::item(uint32_t node, uint32_t begin, uint32_t end) {
  const auto [found, added] =
      item_numbers_.try_emplace({node, begin, end}, static_cast<uint32_t>(items_.size()));
  if (added) items_.push_back({node, begin, end, false, {}});
  return found->second;
}

void GhkmExtractor::derive(uint32_t top) {
  std::vector<uint32_t> open = {top};
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    if (items_[at].done) continue;
    items_[at].done = true;
    order_.push_back(at);
    minimal(at);
    for (size_t i = items_[at].rules.size(); i-- > 0;) {
      const Rule& rule = rules_[items_[at].rules[i]];
      open.insert(open.end(), rule.open.rbegin(), rule.open.rend());
    }
  }
  // Nodes below come after nodes above, whatever the order in which items were reached.
  std::ranges::stable_sort(order_, {}, [&](uint32_t i) { return items_[i].node; });
}

void GhkmExtractor::minimal(uint32_t number) {
  const Item here = items_[number];
  const Piece& cut = piece(here.node);
  std::vector<uint32_t> by_source(cut.open.size());
  std::iota(by_source.begin(), by_source.end(), 0U);
  std::ranges::sort(by_source, {}, [&](uint32_t i) { return first_[cut.open[i]]; });
  std::vector<uint32_t> chosen(cut.open.size());
  const auto add = [&] {
    const bool single = chosen.size() == 1 && items_[chosen[0]].begin == here.begin &&
                        items_[chosen[0]].end == here.end;
    if (single && !options_.unary) return;
    items_[number].rules.push_back(static_cast<uint32_t>(rules_.size()));
    rules_.push_back({cut.nodes, cut.size, cut.depth, chosen});
  };
  if (!options_.all) {
    for (size_t i = 0; i < cut.open.size(); ++i) {
      chosen[i] = item(cut.open[i], first_[cut.open[i]], last_[cut.open[i]]);
    }
    add();
    return;
  }
  // Each node takes some of the unaligned words to its left and right; `from` is the first source
  // word that is not taken yet.
  const std::function<void(size_t, uint32_t)> extend = [&](size_t i, uint32_t from) {
    if (items_[number].rules.size() >= kMostRules) return;
    if (i == by_source.size()) {
      add();
      return;
    }
    const uint32_t node = cut.open[by_source[i]];
    for (uint32_t left = 0;; ++left) {
      const uint32_t begin = first_[node] - left;
      for (uint32_t right = 0;; ++right) {
        const uint32_t end = last_[node] + right;
        chosen[by_source[i]] = item(node, begin, end);
        extend(i + 1, end);
        if (right == options_.max_attached || end >= here.end || aligned_[end]) break;
      }
      if (left == options_.max_attached || begin <= from || aligned_[begin - 1]) break;
    }
  };
  extend(0, here.begin);
  if (items_[number].rules.size() >= kMostRules) ++truncated_;
}

void GhkmExtractor::compose(uint32_t number) {
  if (!options_.composed) return;
  const size_t minimal_rules = items_[number].rules.size();
  const Piece& cut = piece(items_[number].node);
  std::vector<Rule> parts, next;
  bool full = false;
  for (size_t m = 0; m < minimal_rules; ++m) {
    const Rule base = rules_[items_[number].rules[m]];
    parts.assign(1, {base.nodes, base.size, base.depth, {}});
    for (size_t slot = 0; slot < base.open.size(); ++slot) {
      next.clear();
      for (const Rule& part : parts) {
        next.push_back(part);
        next.back().open.push_back(base.open[slot]);
        for (const uint32_t below : items_[base.open[slot]].rules) {
          const Rule& rule = rules_[below];
          const uint32_t nodes = part.nodes + rule.nodes - 1, size = part.size + rule.size;
          const uint32_t depth = std::max(part.depth, cut.levels[slot] + rule.depth);
          if (nodes > options_.max_nodes || size > options_.max_size ||
              depth > options_.max_depth) {
            continue;
          }
          if (next.size() >= kMostRules) {
            full = true;
            break;
          }
          next.push_back({nodes, size, depth, part.open});
          next.back().open.insert(next.back().open.end(), rule.open.begin(), rule.open.end());
        }
      }
      parts.swap(next);
    }
    for (size_t i = 1; i < parts.size(); ++i) {  // the first is the minimal rule
      if (items_[number].rules.size() >= kMostRules) {
        full = true;
        break;
      }
      items_[number].rules.push_back(static_cast<uint32_t>(rules_.size()));
      rules_.push_back(std::move(parts[i]));
    }
  }
  if (full) ++truncated_;
}

// Writes the rule to occurrence_; false if it is beyond the limits of scope or length.
bool GhkmExtractor::fill(uint32_t number, const Rule& rule) {
  const Item& here = items_[number];
  std::vector<std::pair<uint32_t, uint32_t>> holes;  // first source word, item
  holes.reserve(rule.open.size());
  for (const uint32_t open : rule.open) holes.emplace_back(items_[open].begin, open);
  std::ranges::sort(holes);
  uint32_t words = here.end - here.begin, scope = 0;
  for (size_t i = 0; i < holes.size(); ++i) {
    const Item& hole = items_[holes[i].second];
    words -= hole.end - hole.begin;
    const bool adjacent = i > 0 && items_[holes[i - 1].second].end == hole.begin;
    scope +=
        (adjacent ? 1 : 0) + (hole.begin == here.begin ? 1 : 0) + (hole.end == here.end ? 1 : 0);
  }
  if (scope > options_.max_scope || words + holes.size() > options_.max_symbols) return false;
  occurrence_.source.clear();
  occurrence_.target.clear();
  occurrence_.links.clear();
  occurrence_.fragment.clear();
  occurrence_.label = tree_->nodes[here.node].label;
  source_place_.assign(here.end - here.begin, kNowhere);
  size_t hole = 0;
  for (uint32_t word = here.begin; word < here.end;) {
    if (hole < holes.size() && holes[hole].first == word) {
      const Item& below = items_[holes[hole].second];
      occurrence_.source.push_back(kNonterminal | tree_->nodes[below.node].label);
      open_[below.node] = static_cast<uint32_t>(++hole);
      word = below.end;
      continue;
    }
    source_place_[word - here.begin] = static_cast<uint32_t>(occurrence_.source.size());
    occurrence_.source.push_back(pair_->source[word++]);
  }
  write_node(here.node, here.begin);
  for (const uint32_t open : rule.open) open_[items_[open].node] = 0;
  return occurrence_.target.size() <= options_.max_symbols;
}

void GhkmExtractor::write_node(uint32_t node, uint32_t begin) {
  const syntax::TreeNode& entry = tree_->nodes[node];
  if (open_[node] > 0) {
    occurrence_.target.push_back(kNonterminal | (open_[node] - 1));
    occurrence_.fragment.push_back(kFragmentLeaf);
    return;
  }
  occurrence_.fragment.push_back(static_cast<uint16_t>(entry.label));
  if (tree_->preterminal(node)) {
    const auto place = static_cast<uint8_t>(std::min<size_t>(occurrence_.target.size(), 255));
    for (uint32_t i = target_begin_[entry.begin]; i < target_begin_[entry.end]; ++i) {
      const uint32_t source = source_place_[by_target_[i].source - begin];
      occurrence_.links.push_back({static_cast<uint8_t>(source), place});
    }
    occurrence_.target.push_back(pair_->target[entry.begin]);
    occurrence_.fragment.push_back(kFragmentLeaf);
  } else {
    tree_->children(node, [&](uint32_t child) { write_node(child, begin); });
  }
  occurrence_.fragment.push_back(kFragmentClose);
}

}  // namespace hopefear::rules
