// Trees as text in Penn brackets: `(TOP (S (NP (DT the) (NN dog)) (VP (VBD slept)) (. .)))`.
//
// An outer bracket without label is TOP; `()`, `(())` and an empty line are "no tree". Brackets in
// words are written -LRB-, -RRB-. Words are read as they are; `plain_word` undoes escapes of
// several tools, so that the words of a tree can be compared with those of a text.
#pragma once

#include <string>
#include <string_view>

#include "syntax/tree.hpp"

namespace hopefear::syntax {

// The deepest tree that is read: functions over trees are recursive.
inline constexpr size_t kDeepest = 1000;

// InputError, beginning with `place`, for a line that is not one tree.
void read_tree(std::string_view line, const std::string& place, WordNumbers& labels,
               WordNumbers& words, Tree& tree);

// Without end of line; `()` for no tree.
void write_tree(const Tree& tree, const WordNumbers& labels, const WordNumbers& words,
                std::string& text);

// Appends a word or label, with round brackets as -LRB-, -RRB-.
void append_word(std::string_view word, std::string& text);

// The word that an escape stands for: -LRB- ... -RSB- (brackets), \/ and \* (Penn), &amp; and other
// entities of Moses's tokeniser, `` and '' (quotation marks).
std::string plain_word(std::string_view word);

}  // namespace hopefear::syntax
