// Language models for Python: states, queries, text.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <vector>

#include "base/error.hpp"
#include "bind/forest_arrays.hpp"
#include "lm/chart_state.hpp"
#include "lm/model.hpp"
#include "lm/model_builder.hpp"
#include "lm/model_text.hpp"

namespace hopefear::bind {
namespace {

using lm::Boundaries;
using lm::Model;
using lm::WordId;

using Scores = nb::typed<nb::list, nb::typed<nb::tuple, float, unsigned, bool>>;
using Counts = nb::typed<nb::list, uint64_t>;
using TextSums = nb::typed<nb::tuple, uint64_t, uint64_t, uint64_t, double, double>;

WordId find(const Model& model, nb::handle word) {
  nb::object held;
  return model.find(text_of(word, held));
}

bool is_text(nb::handle object) {
  return PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr());
}

lm::SentenceScore score(const Model& model, nb::handle words, bool bos, bool eos) {
  if (is_text(words)) {
    nb::object held;
    return lm::score_sentence(model, text_of(words, held), {bos, eos});
  }
  std::vector<WordId> ids;
  for (const nb::handle word : words) ids.push_back(find(model, word));
  return lm::score_words(model, ids, {bos, eos});
}

Scores full_scores(const Model& model, nb::handle words, bool bos, bool eos) {
  std::vector<nb::object> held(1);
  std::vector<std::string_view> texts;
  if (is_text(words)) {
    texts = lm::split_words(text_of(words, held[0]));
  } else {
    for (const nb::handle word : words) {
      held.push_back(nb::borrow(word));  // keeps the items of an iterator alive
      nb::object converted;
      texts.push_back(text_of(word, converted));
      if (converted.is_valid()) held.push_back(converted);
    }
  }
  Scores result;
  for (const lm::WordScore& scored : lm::score_each(model, texts, {bos, eos})) {
    result.append(nb::make_tuple(scored.log10, scored.length, scored.id == lm::kUnknown));
  }
  return result;
}

// A constituent: its states and its score.
struct Constituent {
  lm::ChartState state;
  float score = 0;  // natural log
};

// Words and constituents, from left to right.
Constituent combine(const Model& model, nb::handle symbols, bool bos) {
  lm::RuleScore rule(model);
  if (bos) rule.begin_sentence();
  for (const nb::handle symbol : symbols) {
    Constituent* constituent = nullptr;
    if (nb::try_cast<Constituent*>(symbol, constituent) && constituent != nullptr) {
      rule.nonterminal(constituent->state, constituent->score);
    } else {
      rule.terminal(find(model, symbol));
    }
  }
  return {rule.state, rule.score()};
}

Counts ngram_counts(const uint64_t* counts, unsigned order) {
  Counts result;
  for (unsigned n = 0; n < order; ++n) result.append(counts[n]);
  return result;
}

}  // namespace

void bind_lm(nb::module_& m) {
  nb::class_<lm::State>(m, "LmState", "The right state of a hypothesis; equal states recombine.")
      .def_prop_ro("length", &lm::State::length,
                   "Number of context words that the state depends on.")
      .def("__eq__", [](lm::State a, lm::State b) { return a == b; })
      .def(
          "__eq__", [](lm::State, nb::handle) { return false; }, "other"_a.none())
      .def("__hash__", [](lm::State state) { return lm::hash_of(state); })
      .def("__repr__", [](lm::State state) {
        return "<LmState of " + std::to_string(state.length()) + " words, number " +
               std::to_string(state.context & lm::State::kIndexMask) + ">";
      });

  nb::class_<Constituent>(m, "LmConstituent",
                          "Left and right state of a word sequence, and its score.")
      .def_prop_ro(
          "score", [](const Constituent& c) { return c.score / lm::kLn10; },
          "log10; an estimate for words whose left context is unknown.")
      .def_prop_ro("left_length", [](const Constituent& c) { return c.state.left_length; })
      .def_prop_ro("full", [](const Constituent& c) { return c.state.full; })
      .def_prop_ro("right", [](const Constituent& c) { return c.state.right; })
      .def(
          "same_state",
          [](const Constituent& a, const Constituent& b) { return a.state == b.state; }, "other"_a,
          "Return whether the two have equal states, i.e. recombine.");

  nb::class_<Model>(m, "LmModel", "A back-off n-gram model; scores are log10.")
      .def_prop_ro("order", &Model::order)
      .def_prop_ro("vocabulary_size", &Model::vocabulary_size)
      .def_prop_ro("missing_marks",
                   [](const Model& lm) {
                     std::vector<std::string> marks;
                     if (lm.bos() == lm::kUnknown) marks.emplace_back("<s>");
                     if (lm.eos() == lm::kUnknown) marks.emplace_back("</s>");
                     return marks;
                   })
      .def_prop_ro("unknown_added", [](const Model& lm) { return lm.header().unknown_added != 0; })
      .def_prop_ro("ngrams",
                   [](const Model& lm) { return ngram_counts(lm.header().ngrams, lm.order()); })
      .def_prop_ro("filled",
                   [](const Model& lm) { return ngram_counts(lm.header().filled, lm.order()); })
      .def("index", &find, "word"_a, "Return the number of a word, 0 (<unk>) if it is unknown.")
      .def(
          "word",
          [](const Model& lm, WordId id) {
            if (id >= lm.vocabulary_size()) throw nb::index_error("word number out of range");
            return to_python(lm.word(id));
          },
          "id"_a)
      .def(
          "score",
          [](const Model& lm, nb::handle words, bool bos, bool eos) {
            return score(lm, words, bos, eos).log10;
          },
          "words"_a, "bos"_a, "eos"_a, "Return the log10 probability of a sentence.")
      .def("full_scores", &full_scores, "words"_a, "bos"_a, "eos"_a,
           "Return (log10 probability, n-gram length, whether unknown) per word.")
      .def_prop_ro("begin_state", &Model::begin, "The state after <s>.")
      .def_prop_ro("empty_state", &Model::empty, "The state without context.")
      .def(
          "score_word",
          [](const Model& lm, lm::State state,
             nb::handle word) -> nb::typed<nb::tuple, float, lm::State> {
            lm::State next;
            const float log10 = lm.look_up(state, find(lm, word), next).log10;
            return nb::make_tuple(log10, next);
          },
          "state"_a, "word"_a,
          "Return the log10 probability of a word after a state, and the next state.")
      .def("combine", &combine, "symbols"_a, "bos"_a,
           "Return the constituent made of words and constituents from left to right.")
      .def(
          "score_text",
          [](const Model& lm, nb::object file, const std::string& name, bool bos, bool eos,
             size_t threads, nb::object progress) -> TextSums {
            PythonSource source(std::move(file), name);
            const auto report = progress_callback(std::move(progress));
            lm::TextScore total;
            {
              const nb::gil_scoped_release released;
              total = lm::score_text(lm, source, {bos, eos}, threads, report);
            }
            return nb::make_tuple(total.sentences, total.sum.tokens, total.sum.unknown,
                                  total.sum.log10, total.sum.log10_unknown);
          },
          "file"_a, "name"_a, "bos"_a, "eos"_a, "threads"_a, "progress"_a.none(),
          "Return sentences, tokens, unknown tokens, log10 in total and log10 of unknown tokens.")
      .def(
          "query_text",
          [](const Model& lm, nb::object file, const std::string& name, nb::object output, bool bos,
             bool eos, bool words) {
            PythonSource source(std::move(file), name);
            PythonSink sink(std::move(output));
            const nb::gil_scoped_release released;
            lm::query_text(lm, source, sink, {bos, eos}, words);
          },
          "file"_a, "name"_a, "output"_a, "bos"_a, "eos"_a, "words"_a,
          "Write the score of each sentence of a text; words: also of each word.")
      .def(
          "write", [](const Model& lm, const FilePath& path) { lm.write(path.name); }, "path"_a,
          nb::call_guard<nb::gil_scoped_release>(), "Write the model to a new binary file.")
      .def(
          "write_arpa",
          [](const Model& lm, nb::object file) {
            PythonSink sink(std::move(file));
            const nb::gil_scoped_release released;
            lm.write_arpa(sink);
          },
          "file"_a, "Write the model as ARPA text.");

  m.def(
      "lm_open", [](const FilePath& path) { return Model::open(path.name); }, "path"_a,
      nb::call_guard<nb::gil_scoped_release>(), "Open a binary model file.");
  m.def(
      "lm_read_arpa",
      [](nb::object file, const std::string& name, nb::object progress) {
        PythonSource source(std::move(file), name);
        const auto report = progress_callback(std::move(progress));
        const nb::gil_scoped_release released;
        return lm::read_arpa(source, report);
      },
      "file"_a, "name"_a, "progress"_a.none(), "Read a model from an ARPA file.");
}

}  // namespace hopefear::bind
