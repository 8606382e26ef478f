#include "syntax/tree.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string>

namespace hopefear::syntax {
namespace {

// Builds a tree in pre-order.
class Builder {
 public:
  explicit Builder(Tree& tree) : tree_(tree) { tree.clear(); }
  uint32_t open(uint32_t label) {
    const auto number = static_cast<uint32_t>(tree_.nodes.size());
    const auto at = static_cast<uint32_t>(tree_.words.size());
    tree_.nodes.push_back({label, open_.empty() ? kNoParent : open_.back(), 0, at, at});
    open_.push_back(number);
    return number;
  }
  void word(uint32_t word) { tree_.words.push_back(word); }
  void close() {
    TreeNode& node = tree_.nodes[open_.back()];
    node.next = static_cast<uint32_t>(tree_.nodes.size());
    node.end = static_cast<uint32_t>(tree_.words.size());
    open_.pop_back();
  }

 private:
  Tree& tree_;
  std::vector<uint32_t> open_;
};

std::string_view without_functions(std::string_view label) {
  if (label.empty() || label[0] == '-') return label;
  const size_t end = label.find_first_of("-=|");
  return end == 0 ? label : label.substr(0, end);
}

struct HeadRule {
  std::string_view parent;
  bool from_left;
  std::string_view children;  // separated by blanks, the most important first; empty: any
};

// Magerman's rules as in Collins 1999, appendix A, shortened to the labels of the treebanks.
constexpr std::array<HeadRule, 26> kHeadRules = {{
    {"ADJP", true, "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"},
    {"ADVP", false, "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"},
    {"CONJP", false, "CC RB IN"},
    {"FRAG", false, ""},
    {"INTJ", true, ""},
    {"LST", false, "LS :"},
    {"NAC", true, "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"},
    {"NP", false, "NN NNS NNP NNPS NX POS JJR NP $ ADJP PRN CD JJ JJS RB QP"},
    {"NX", false, "NN NNS NNP NNPS NX POS JJR NP $ ADJP PRN CD JJ JJS RB QP"},
    {"PP", false, "IN TO VBG VBN RP FW"},
    {"PRN", true, ""},
    {"PRT", false, "RP"},
    {"QP", true, "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"},
    {"RRC", false, "VP NP ADVP ADJP PP"},
    {"S", true, "TO IN VP S SBAR ADJP UCP NP"},
    {"SBAR", true, "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"},
    {"SBARQ", true, "SQ S SINV SBARQ FRAG"},
    {"SINV", true, "VBZ VBD VBP VB MD VP S SINV ADJP NP"},
    {"SQ", true, "VBZ VBD VBP VB MD VP SQ"},
    {"TOP", true, ""},
    {"UCP", false, ""},
    {"VP", true, "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"},
    {"WHADJP", true, "CC WRB JJ ADJP"},
    {"WHADVP", false, "CC WRB"},
    {"WHNP", true, "WDT WP WP$ WHADJP WHPP WHNP"},
    {"WHPP", false, "IN TO FW"},
}};

}  // namespace

Tree normalised(const Tree& tree, WordNumbers& labels) {
  Tree result;
  if (tree.empty()) return result;
  const uint32_t none = labels.find("-NONE-");
  std::vector<uint32_t> kept(tree.nodes.size());  // words below that are not traces
  for (size_t i = tree.nodes.size(); i-- > 0;) {
    const auto node = static_cast<uint32_t>(i);
    if (tree.preterminal(node)) kept[i] = tree.nodes[i].label == none ? 0 : 1;
    if (tree.nodes[i].parent != kNoParent) kept[tree.nodes[i].parent] += kept[i];
  }
  if (kept[0] == 0) return result;
  std::vector<uint32_t> names(tree.nodes.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string_view name = labels.word(tree.nodes[i].label);
    const std::string_view bare = without_functions(name);
    names[i] = bare.size() == name.size() ? tree.nodes[i].label : labels.add(std::string(bare));
  }
  Builder builder(result);
  const std::function<void(uint32_t)> copy = [&](uint32_t node) {
    if (tree.preterminal(node)) {
      builder.open(names[node]);
      builder.word(tree.words[tree.nodes[node].begin]);
      builder.close();
      return;
    }
    uint32_t only = 0;
    size_t children = 0;
    tree.children(node, [&](uint32_t child) {
      if (kept[child] == 0) return;
      ++children;
      only = child;
    });
    const bool same = children == 1 && names[only] == names[node] && !tree.preterminal(only);
    if (!same) builder.open(names[node]);
    tree.children(node, [&](uint32_t child) {
      if (kept[child] > 0) copy(child);
    });
    if (!same) builder.close();
  };
  copy(0);
  return result;
}

size_t head_child(std::string_view parent, const std::vector<std::string_view>& children) {
  const auto rule = std::ranges::find(kHeadRules, parent, &HeadRule::parent);
  if (rule == kHeadRules.end()) return children.size() - 1;
  std::string_view rest = rule->children;
  while (!rest.empty()) {
    const std::string_view label = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), label.size() + 1));
    for (size_t i = 0; i < children.size(); ++i) {
      const size_t at = rule->from_left ? i : children.size() - 1 - i;
      if (children[at] == label) return at;
    }
  }
  return rule->from_left ? 0 : children.size() - 1;
}

Tree binarised(const Tree& tree, Binarisation direction, WordNumbers& labels) {
  Tree result;
  if (tree.empty() || direction == Binarisation::none) {
    result = tree;
    return result;
  }
  Builder builder(result);
  std::function<void(uint32_t)> copy;
  // The children [first, last) of a node, in which `head` is, below a node that is open.
  const std::function<void(const std::vector<uint32_t>&, size_t, size_t, size_t, uint32_t)> split =
      [&](const std::vector<uint32_t>& children, size_t first, size_t last, size_t head,
          uint32_t label) {
        if (last - first <= 2) {
          for (size_t i = first; i < last; ++i) copy(children[i]);
          return;
        }
        const bool from_left =
            direction == Binarisation::right || (direction == Binarisation::head && head > first);
        if (from_left) {
          copy(children[first]);
          builder.open(label);
          split(children, first + 1, last, head, label);
          builder.close();
        } else {
          builder.open(label);
          split(children, first, last - 1, head, label);
          builder.close();
          copy(children[last - 1]);
        }
      };
  copy = [&](uint32_t node) {
    builder.open(tree.nodes[node].label);
    if (tree.preterminal(node)) {
      builder.word(tree.words[tree.nodes[node].begin]);
    } else {
      std::vector<uint32_t> children;
      tree.children(node, [&](uint32_t child) { children.push_back(child); });
      size_t head = 0;
      uint32_t label = 0;
      if (children.size() > 2) {
        const std::string name(labels.word(tree.nodes[node].label));
        label = labels.add(name[0] == '@' ? name : "@" + name);
        if (direction == Binarisation::head) {
          std::vector<std::string_view> names;
          for (const uint32_t child : children) {
            names.push_back(labels.word(tree.nodes[child].label));
          }
          head = head_child(name, names);
        }
      }
      split(children, 0, children.size(), head, label);
    }
    builder.close();
  };
  copy(0);
  return result;
}

Tree unbinarised(const Tree& tree, const WordNumbers& labels) {
  Tree result;
  if (tree.empty()) return result;
  Builder builder(result);
  const std::function<void(uint32_t)> copy = [&](uint32_t node) {
    const std::string_view name = labels.word(tree.nodes[node].label);
    const bool leaf = tree.preterminal(node);
    const bool keep = node == 0 || leaf || name.empty() || name[0] != '@' || name.size() == 1;
    if (keep) builder.open(tree.nodes[node].label);
    if (leaf) builder.word(tree.words[tree.nodes[node].begin]);
    tree.children(node, copy);
    if (keep) builder.close();
  };
  copy(0);
  return result;
}

}  // namespace hopefear::syntax
