// The target trees of an aligned corpus as numbers in a scratch file, in the blocks of the corpus.
// Only the labels and the positions of blocks are in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/io.hpp"
#include "rules/aligned_corpus.hpp"
#include "syntax/tree.hpp"

namespace hopefear::rules {

// Label 0, of spans that have no label in the tree.
inline constexpr std::string_view kDefaultLabel = "X";

class TreeCorpus {
 public:
  // Reads one tree, or `()`, for each sentence pair. InputError for a line that is not a tree, for
  // other words than those of the target text (escapes aside), and for another number of lines.
  TreeCorpus(ByteSource& trees, const AlignedCorpus& corpus, syntax::Binarisation binarisation,
             const std::string& scratch_directory, const std::function<void(uint64_t)>& progress);

  // The trees of a block of the corpus, in order. Their words are empty. Thread-safe.
  void read(size_t block, std::vector<syntax::Tree>& trees) const;
  const WordNumbers& labels() const { return labels_; }
  uint64_t trees() const { return trees_; }  // without those that are missing

 private:
  ScratchFile file_;
  std::vector<uint64_t> offsets_;  // of the blocks, and the end
  WordNumbers labels_;
  uint64_t trees_ = 0;
};

}  // namespace hopefear::rules
