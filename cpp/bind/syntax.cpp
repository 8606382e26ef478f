// Trees: reading, changing and writing them.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "bind/bind.hpp"
#include "syntax/brackets.hpp"
#include "syntax/tree.hpp"

namespace hopefear::bind {
namespace {

using namespace syntax;

nb::str str_of(std::string_view text) {
  PyObject* const object =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (object == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(object);
}

// (labels, parents, begins, ends, words); the parent of the root is -1.
nb::tuple tree_arrays(nb::handle line, const std::string& place) {
  nb::object held;
  WordNumbers labels, words;
  Tree tree;
  read_tree(text_of(line, held), place, labels, words, tree);
  nb::list names, parents, begins, ends, tokens;
  for (const TreeNode& node : tree.nodes) {
    names.append(str_of(labels.word(node.label)));
    parents.append(node.parent == kNoParent ? -1 : static_cast<int64_t>(node.parent));
    begins.append(node.begin);
    ends.append(node.end);
  }
  for (const uint32_t word : tree.words) tokens.append(str_of(words.word(word)));
  return nb::make_tuple(nb::tuple(names), nb::tuple(parents), nb::tuple(begins), nb::tuple(ends),
                        nb::tuple(tokens));
}

nb::str change_tree(nb::handle line, const std::string& place, bool normalise,
                    const std::string& binarise, bool unbinarise) {
  nb::object held;
  WordNumbers labels, words;
  Tree tree;
  read_tree(text_of(line, held), place, labels, words, tree);
  if (unbinarise) tree = unbinarised(tree, labels);
  if (normalise) tree = normalised(tree, labels);
  const Binarisation direction = binarise == "left"    ? Binarisation::left
                                 : binarise == "right" ? Binarisation::right
                                 : binarise == "head"  ? Binarisation::head
                                                       : Binarisation::none;
  tree = binarised(tree, direction, labels);
  std::string text;
  write_tree(tree, labels, words, text);
  return str_of(text);
}

}  // namespace

void bind_syntax(nb::module_& m) {
  m.def("tree_arrays", tree_arrays, "line"_a, "place"_a,
        nb::sig("def tree_arrays(line: str | bytes, place: str) -> tuple[tuple[str, ...], "
                "tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[str, ...]]"),
        "Read a tree in brackets; return labels, parents, begins and ends of its nodes in "
        "pre-order, and its words.");
  m.def("change_tree", change_tree, "line"_a, "place"_a, "normalise"_a, "binarise"_a,
        "unbinarise"_a,
        nb::sig("def change_tree(line: str | bytes, place: str, normalise: bool, binarise: str, "
                "unbinarise: bool) -> str"),
        "Read a tree in brackets; return it normalised, binarised or with its binarisation "
        "undone.");
  m.def(
      "plain_word",
      [](nb::handle word) {
        nb::object held;
        return str_of(plain_word(text_of(word, held)));
      },
      "word"_a, nb::sig("def plain_word(word: str) -> str"),
      "Return the word that an escape in a tree stands for.");
}

}  // namespace hopefear::bind
