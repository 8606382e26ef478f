#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "base/error.hpp"
#include "bind/forest_arrays.hpp"
#include "metrics/bleu_references.hpp"
#include "metrics/chrf_references.hpp"
#include "metrics/edit_references.hpp"
#include "metrics/ter_references.hpp"

namespace hopefear::bind {
namespace {

using Numbers = InArray<int32_t>;
using Words = InArray<WordId>;
using Offsets = InArray<int64_t>;
using Rows = nb::ndarray<nb::numpy, int32_t, nb::ndim<2>>;

// The string's UTF-8, which the string object keeps as long as it lives.
std::string_view utf8(nb::handle text, size_t number) {
  Py_ssize_t size = 0;
  const char* data =
      PyUnicode_Check(text.ptr()) ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
  if (data == nullptr) {
    PyErr_Clear();
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("expected str or a list of str");
    throw InputError(
        "sentence " + std::to_string(number + 1) +
        ": found an unpaired surrogate, expected Unicode text; read the file as UTF-8");
  }
  return {data, static_cast<size_t>(size)};
}

// Calls f(std::string_view) for the units of a str, or for the tokens of a list of str, which are
// not split further (for characters: for the characters of the tokens).
template <typename F>
void for_each_token(nb::handle text, TextUnit unit, size_t number, F&& f) {
  if (PyUnicode_Check(text.ptr())) {
    for_each_unit(utf8(text, number), unit, f);
    return;
  }
  const nb::object items = nb::steal(PySequence_Fast(text.ptr(), "expected str or a list of str"));
  if (!items.is_valid()) throw nb::python_error();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); ++i) {
    const std::string_view token = utf8(PySequence_Fast_GET_ITEM(items.ptr(), i), number);
    if (unit == TextUnit::spaced_character && i > 0) f(std::string_view(" "));
    if (unit == TextUnit::word) {
      f(token);
    } else {
      for_each_unit(token, unit, f);
    }
  }
}

// A new tuple, whose items stay alive while the GIL is released.
nb::object own_items(nb::handle sequence) {
  nb::object items = nb::steal(PySequence_Tuple(sequence.ptr()));
  if (!items.is_valid()) throw nb::python_error();
  return items;
}

void check_sentences(Numbers sentences, size_t hypotheses, size_t count) {
  if (sentences.size() != hypotheses)
    throw nb::value_error("expected one sentence number per hypothesis");
  for (size_t i = 0; i < hypotheses; ++i) {
    const int32_t sentence = sentences.data()[i];
    if (sentence < 0 || static_cast<size_t>(sentence) >= count) {
      throw InputError("hypothesis " + std::to_string(i + 1) + ": sentence number " +
                       std::to_string(sentence) + ", but there are references for " +
                       std::to_string(count) + " sentences (numbered from 0)");
    }
  }
}

Rows own_rows(std::unique_ptr<int32_t[]> data, size_t rows, size_t columns) {
  int32_t* pointer = data.release();
  const nb::capsule owner(pointer, [](void* p) noexcept { delete[] static_cast<int32_t*>(p); });
  return Rows(pointer, {rows, columns}, owner);
}

TextUnit unit_named(std::string_view name) {
  if (name == "spaced-char") return TextUnit::spaced_character;
  return name == "char" ? TextUnit::character : TextUnit::word;
}

LengthChoice choice_named(std::string_view name) {
  if (name == "closest") return LengthChoice::closest;
  if (name == "shortest") return LengthChoice::shortest;
  if (name == "average") return LengthChoice::average;
  throw nb::value_error("length must be closest, shortest or average");
}

void add_references(ReferenceSet& set, nb::handle references) {
  const nb::object sentences = own_items(references);
  std::vector<std::vector<WordId>> words;
  size_t number = 0;
  for (const nb::handle sentence : sentences) {
    words.clear();
    for (const nb::handle reference : own_items(sentence)) {
      words.emplace_back();
      for_each_token(reference, set.unit(), number,
                     [&](std::string_view word) { words.back().push_back(set.intern(word)); });
    }
    if (words.empty()) {
      throw InputError("sentence " + std::to_string(number + 1) +
                       " has no reference; provide at least one");
    }
    set.add_sentence(words);
    ++number;
  }
}

// Rows of the hypotheses; the GIL is released while counting.
Rows count(const ReferenceSet& set, std::span<const Hypothesis> hypotheses, Numbers sentences,
           size_t threads) {
  std::unique_ptr<int32_t[]> rows(new int32_t[hypotheses.size() * set.columns()]);
  {
    const nb::gil_scoped_release release;
    set.count(hypotheses, {sentences.data(), hypotheses.size()}, threads, rows.get());
  }
  return own_rows(std::move(rows), hypotheses.size(), set.columns());
}

Rows count_hypotheses(const ReferenceSet& set, nb::handle hypotheses, Numbers sentences,
                      size_t threads) {
  const nb::object items = own_items(hypotheses);
  const size_t n = nb::len(items);
  check_sentences(sentences, n, set.sentences());
  std::vector<Hypothesis> texts(n);
  std::vector<WordId> arena;                      // words of hypotheses that came as lists
  std::vector<std::pair<size_t, size_t>> placed;  // (hypothesis, begin in the arena)
  for (size_t i = 0; i < n; ++i) {
    const nb::handle item = PyTuple_GET_ITEM(items.ptr(), static_cast<Py_ssize_t>(i));
    if (PyUnicode_Check(item.ptr())) {
      texts[i].line = utf8(item, i);
      continue;
    }
    placed.emplace_back(i, arena.size());
    for_each_token(item, set.unit(), i,
                   [&](std::string_view word) { arena.push_back(set.find(word)); });
  }
  for (size_t p = 0; p < placed.size(); ++p) {
    const size_t begin = placed[p].second;
    const size_t end = p + 1 < placed.size() ? placed[p + 1].second : arena.size();
    texts[placed[p].first] = {{}, std::span(arena).subspan(begin, end - begin), false};
  }
  return count(set, texts, sentences, threads);
}

Rows count_words(const ReferenceSet& set, Words words, Offsets offsets, Numbers sentences,
                 size_t threads) {
  if (offsets.size() == 0) throw nb::value_error("offsets must begin with 0");
  const size_t n = offsets.size() - 1;
  check_sentences(sentences, n, set.sentences());
  std::vector<Hypothesis> texts(n);
  for (size_t i = 0; i < n; ++i) {
    const int64_t begin = offsets.data()[i], end = offsets.data()[i + 1];
    if (begin < 0 || end < begin || static_cast<size_t>(end) > words.size()) {
      throw nb::value_error("offsets must ascend from 0 to the number of words");
    }
    texts[i] = {{}, {words.data() + begin, static_cast<size_t>(end - begin)}, false};
  }
  return count(set, texts, sentences, threads);
}

// Adds the references; destroys the set, which was made by placement new, if they are invalid.
template <typename Set>
void fill(Set& set, nb::handle references) {
  try {
    add_references(set, references);
  } catch (...) {
    set.~Set();
    throw;
  }
}

#define REFERENCES_TYPE                                                  \
  "references: collections.abc.Sequence[collections.abc.Sequence[str | " \
  "collections.abc.Sequence[str]]]"

}  // namespace

void bind_metrics(nb::module_& m) {
  m.attr("LENGTH_UNIT") = kLengthUnit;
  nb::class_<ReferenceSet>(
      m, "ReferenceSet",
      "References of a test set, prepared for counting the statistics of hypotheses.")
      .def("__len__", &ReferenceSet::sentences)
      .def_prop_ro("columns", &ReferenceSet::columns, "Number of statistics per hypothesis.")
      .def(
          "lengths",
          [](const ReferenceSet& set, size_t sentence) {
            if (sentence >= set.sentences()) throw nb::index_error("sentence index out of range");
            const auto lengths = set.lengths(sentence);
            return std::vector<uint32_t>(lengths.begin(), lengths.end());
          },
          "sentence"_a, "Return the lengths of a sentence's references.")
      .def(
          "word_ids",
          [](const ReferenceSet& set, nb::handle words) {
            std::vector<WordId> ids;
            for_each_token(words, set.unit(), 0,
                           [&](std::string_view word) { ids.push_back(set.find(word)); });
            return ids;
          },
          "words"_a,
          nb::sig("def word_ids(self, words: str | collections.abc.Sequence[str]) -> list[int]"),
          "Return the numbers of words, 0 for a word that is in no reference.")
      .def("statistics", &count_hypotheses, "hypotheses"_a, "sentences"_a.noconvert(), "threads"_a,
           nb::sig("def statistics(self, hypotheses: collections.abc.Sequence[str | collections."
                   "abc.Sequence[str]], sentences: numpy.typing.NDArray[numpy.int32], "
                   "threads: int) -> numpy.typing.NDArray[numpy.int32]"),
           "Return a row of statistics per hypothesis, counted against the references of its "
           "sentence.")
      .def("word_statistics", &count_words, "words"_a.noconvert(), "offsets"_a.noconvert(),
           "sentences"_a.noconvert(), "threads"_a,
           nb::sig("def word_statistics(self, words: numpy.typing.NDArray[numpy.uint32], "
                   "offsets: numpy.typing.NDArray[numpy.int64], "
                   "sentences: numpy.typing.NDArray[numpy.int32], "
                   "threads: int) -> numpy.typing.NDArray[numpy.int32]"),
           "The same for hypotheses given as word numbers: words[offsets[i]:offsets[i + 1]], see "
           "word_ids.");
  nb::class_<BleuReferences, ReferenceSet>(
      m, "BleuReferences", "Statistics of BLEU: match1, total1, …, reference length.")
      .def(
          "__init__",
          [](BleuReferences* self, nb::handle references, unsigned order, std::string_view unit,
             std::string_view length, bool clip) {
            new (self) BleuReferences(order, unit_named(unit), choice_named(length), clip);
            fill(*self, references);
          },
          "references"_a, "order"_a, "unit"_a, "length"_a, "clip"_a,
          nb::sig("def __init__(self, " REFERENCES_TYPE
                  ", order: int, unit: str, length: str, clip: bool) -> None"));
  nb::class_<ChrfReferences, ReferenceSet>(
      m, "ChrfReferences",
      "Statistics of chrF: n-grams of the hypothesis, of the reference and common ones, per order.")
      .def(
          "__init__",
          [](ChrfReferences* self, nb::handle references, unsigned order, double beta) {
            new (self) ChrfReferences(order, beta);
            fill(*self, references);
          },
          "references"_a, "order"_a, "beta"_a,
          nb::sig("def __init__(self, " REFERENCES_TYPE ", order: int, beta: float) -> None"));
  nb::class_<TerReferences, ReferenceSet>(m, "TerReferences",
                                          "Statistics of TER: edits and the mean reference length.")
      .def(
          "__init__",
          [](TerReferences* self, nb::handle references) {
            new (self) TerReferences();
            fill(*self, references);
          },
          "references"_a, nb::sig("def __init__(self, " REFERENCES_TYPE ") -> None"));
  nb::class_<EditReferences, ReferenceSet>(
      m, "EditReferences", "Statistics of error rates: edits and the length of the reference.")
      .def(
          "__init__",
          [](EditReferences* self, nb::handle references, std::string_view unit) {
            new (self) EditReferences(unit_named(unit));
            fill(*self, references);
          },
          "references"_a, "unit"_a,
          nb::sig("def __init__(self, " REFERENCES_TYPE ", unit: str) -> None"));
}

}  // namespace hopefear::bind
