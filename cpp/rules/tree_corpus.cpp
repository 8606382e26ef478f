#include "rules/tree_corpus.hpp"

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "syntax/brackets.hpp"

namespace hopefear::rules {
namespace {

// A block in the file: for each tree its number of nodes, then label, parent, next, begin, end of
// each node.
static_assert(sizeof(syntax::TreeNode) == 5 * sizeof(uint32_t));

void check_words(const std::string& place, const syntax::Tree& tree, const WordNumbers& words,
                 const SentencePair& pair, const WordNumbers& target_words) {
  constexpr const char* kRemedy = "; give the trees of this very text, () where there is none";
  if (tree.words.size() != pair.target.size()) {
    throw InputError(place + ": the tree has " + std::to_string(tree.words.size()) +
                     " words, the target sentence " + std::to_string(pair.target.size()) + kRemedy);
  }
  for (size_t i = 0; i < tree.words.size(); ++i) {
    const std::string_view word = words.word(tree.words[i]);
    const std::string_view expected = target_words.word(pair.target[i]);
    if (word == expected) continue;
    if (syntax::plain_word(word) == syntax::plain_word(expected)) continue;
    throw InputError(place + ": word " + std::to_string(i + 1) + " of the tree is " + shown(word) +
                     ", in the target sentence " + shown(expected) + kRemedy);
  }
}

}  // namespace

TreeCorpus::TreeCorpus(ByteSource& trees, const AlignedCorpus& corpus,
                       syntax::Binarisation binarisation, const std::string& scratch_directory,
                       const std::function<void(uint64_t)>& progress)
    : file_(scratch_directory) {
  labels_.add(kDefaultLabel);
  LineReader reader(trees);
  std::string_view line;
  WordNumbers words;
  syntax::Tree tree;
  std::vector<uint32_t> data;
  for (size_t block = 0; block < corpus.blocks(); ++block) {
    data.clear();
    corpus.read(block, [&](uint64_t sentence, const SentencePair& pair) {
      if (!reader.next_text(line)) {
        throw InputError(reader.name() + " has " + std::to_string(sentence) + " lines, the text " +
                         std::to_string(corpus.sentences()) +
                         "; give one tree, or (), for each sentence pair");
      }
      words.clear();
      syntax::read_tree(line, reader.place(), labels_, words, tree);
      if (!tree.empty()) {
        check_words(reader.place(), tree, words, pair, corpus.target_words());
        tree = syntax::binarised(tree, binarisation, labels_);
        ++trees_;
      }
      data.push_back(static_cast<uint32_t>(tree.nodes.size()));
      const auto* const begin = reinterpret_cast<const uint32_t*>(tree.nodes.data());
      data.insert(data.end(), begin, begin + 5 * tree.nodes.size());
      if ((sentence + 1) % 1024 == 0) {
        poll_interrupt();
        progress(sentence + 1);
      }
    });
    offsets_.push_back(file_.size());
    file_.append(data.data(), data.size() * sizeof(uint32_t));
  }
  if (reader.next(line)) {
    while (reader.next(line)) poll_interrupt();
    throw InputError(reader.name() + " has " + std::to_string(reader.line_number()) +
                     " lines, the text " + std::to_string(corpus.sentences()) +
                     "; give one tree, or (), for each sentence pair");
  }
  offsets_.push_back(file_.size());
}

void TreeCorpus::read(size_t block, std::vector<syntax::Tree>& trees) const {
  std::vector<uint32_t> data((offsets_[block + 1] - offsets_[block]) / sizeof(uint32_t));
  file_.read_at(offsets_[block], data.data(), data.size() * sizeof(uint32_t));
  trees.clear();
  for (size_t at = 0; at < data.size();) {
    const size_t nodes = data[at++];
    const auto* const begin = reinterpret_cast<const syntax::TreeNode*>(data.data() + at);
    trees.emplace_back();
    trees.back().nodes.assign(begin, begin + nodes);
    at += 5 * nodes;
  }
}

}  // namespace hopefear::rules
