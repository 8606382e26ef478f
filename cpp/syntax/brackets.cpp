#include "syntax/brackets.hpp"

#include <array>
#include <utility>

#include "base/error.hpp"

namespace hopefear::syntax {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kBrackets = {{
    {"-LRB-", "("},
    {"-RRB-", ")"},
    {"-LCB-", "{"},
    {"-RCB-", "}"},
    {"-LSB-", "["},
    {"-RSB-", "]"},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kEntities = {{
    {"&amp;", "&"},
    {"&#124;", "|"},
    {"&lt;", "<"},
    {"&gt;", ">"},
    {"&apos;", "'"},
    {"&quot;", "\""},
    {"&#91;", "["},
    {"&#93;", "]"},
    {"&bar;", "|"},
    {"&bra;", "["},
    {"&ket;", "]"},
}};

class Reader {
 public:
  Reader(std::string_view line, const std::string& place, WordNumbers& labels, WordNumbers& words,
         Tree& tree)
      : line_(line), place_(place), labels_(labels), words_(words), tree_(tree) {}

  void run() {
    tree_.clear();
    skip();
    if (at_ == line_.size() || all_brackets()) return;
    node(kNoParent, 1);
    skip();
    if (at_ != line_.size()) {
      fail("text after the end of the tree: " + shown(line_.substr(at_)));
    }
  }

 private:
  void skip() {
    while (at_ < line_.size() && is_blank(line_[at_])) ++at_;
  }
  bool all_brackets() const {  // and balanced: `()`, `( ( ) )`
    int64_t depth = 0;
    for (const char c : line_) {
      if (c != '(' && c != ')' && !is_blank(c)) return false;
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (depth < 0) return false;
    }
    return depth == 0;
  }
  std::string_view token() {
    const size_t begin = at_;
    while (at_ < line_.size() && !is_blank(line_[at_]) && line_[at_] != '(' && line_[at_] != ')') {
      ++at_;
    }
    return line_.substr(begin, at_ - begin);
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(place_ + ": " + what +
                     "; expected one tree in brackets per line, such as (TOP (NN rain)), or ()");
  }

  void node(uint32_t parent, size_t depth) {
    if (at_ == line_.size() || line_[at_] != '(') {
      fail(at_ == line_.size() ? std::string("the tree ends early")
                               : "expected '(', found " + shown(line_.substr(at_, 20)));
    }
    if (depth > kDeepest) {
      fail("the tree is deeper than " + std::to_string(kDeepest) + " nodes");
    }
    ++at_;
    skip();
    std::string_view label = token();
    if (label.empty()) {
      if (parent != kNoParent) fail("a bracket without a label");
      label = kTop;
    }
    skip();
    const auto number = static_cast<uint32_t>(tree_.nodes.size());
    const auto begin = static_cast<uint32_t>(tree_.words.size());
    tree_.nodes.push_back({labels_.add(label), parent, 0, begin, begin});
    if (at_ < line_.size() && line_[at_] != '(' && line_[at_] != ')') {
      tree_.words.push_back(words_.add(token()));
      skip();
      if (at_ < line_.size() && line_[at_] != ')') {
        fail("label " + shown(label) + " has a word and " + shown(line_.substr(at_, 20)) +
             " below it, but every word needs a label of its own");
      }
    } else {
      for (; at_ < line_.size() && line_[at_] == '('; skip()) node(number, depth + 1);
      if (number + 1 == tree_.nodes.size()) fail("label " + shown(label) + " without a word");
    }
    if (at_ == line_.size()) fail("the tree ends early");
    if (line_[at_] != ')') {
      fail("word " + shown(line_.substr(at_, 20)) +
           " beside brackets, but every word needs a "
           "label of its own");
    }
    ++at_;
    tree_.nodes[number].next = static_cast<uint32_t>(tree_.nodes.size());
    tree_.nodes[number].end = static_cast<uint32_t>(tree_.words.size());
  }

  std::string_view line_;
  const std::string& place_;
  WordNumbers& labels_;
  WordNumbers& words_;
  Tree& tree_;
  size_t at_ = 0;
};

}  // namespace

void read_tree(std::string_view line, const std::string& place, WordNumbers& labels,
               WordNumbers& words, Tree& tree) {
  Reader(line, place, labels, words, tree).run();
}

void append_word(std::string_view word, std::string& text) {
  for (const char c : word) {
    if (c == '(') {
      text += "-LRB-";
    } else if (c == ')') {
      text += "-RRB-";
    } else {
      text += c;
    }
  }
}

void write_tree(const Tree& tree, const WordNumbers& labels, const WordNumbers& words,
                std::string& text) {
  text.clear();
  if (tree.empty()) {
    text = "()";
    return;
  }
  std::vector<uint32_t> ends;  // of the open nodes
  for (uint32_t node = 0; node < tree.nodes.size(); ++node) {
    while (!ends.empty() && ends.back() == node) {
      text += ')';
      ends.pop_back();
    }
    if (node > 0) text += ' ';
    text += '(';
    append_word(labels.word(tree.nodes[node].label), text);
    if (tree.preterminal(node)) {
      text += ' ';
      append_word(words.word(tree.words[tree.nodes[node].begin]), text);
    }
    ends.push_back(tree.nodes[node].next);
  }
  text.append(ends.size(), ')');
}

std::string plain_word(std::string_view word) {
  if (word == "``" || word == "''") return "\"";
  std::string plain;
  for (size_t i = 0; i < word.size();) {
    const std::string_view rest = word.substr(i);
    const auto replace = [&](const auto& table) {
      for (const auto& [escape, text] : table) {
        if (!rest.starts_with(escape)) continue;
        plain += text;
        i += escape.size();
        return true;
      }
      return false;
    };
    if (rest[0] == '-' && replace(kBrackets)) continue;
    if (rest[0] == '&' && replace(kEntities)) continue;
    if (rest[0] == '\\' && rest.size() > 1 && (rest[1] == '/' || rest[1] == '*')) ++i;
    plain += word[i++];
  }
  return plain;
}

}  // namespace hopefear::syntax
