// The training of a parser, and parsing.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "base/threads.hpp"
#include "bind/bind.hpp"
#include "syntax/brackets.hpp"
#include "syntax/latent_parser.hpp"
#include "syntax/latent_training.hpp"

namespace hopefear::bind {
namespace {

using namespace syntax;
using Counts = nb::typed<nb::dict, nb::str, nb::int_>;

Binarisation direction_of(const std::string& name) {
  return name == "left"   ? Binarisation::left
         : name == "head" ? Binarisation::head
                          : Binarisation::right;
}

uint64_t read_trees(LatentTraining& training, nb::object file, const std::string& name,
                    nb::object progress) {
  PythonSource source(std::move(file), name);
  const auto report = progress_callback(std::move(progress));
  const nb::gil_scoped_release release;
  LineReader reader(source);
  std::string_view line;
  Tree tree;
  uint64_t added = 0;
  WordNumbers labels, words;
  while (reader.next_text(line)) {
    labels.clear();
    words.clear();
    read_tree(line, reader.place(), labels, words, tree);
    if (training.add(tree, labels, words)) ++added;
    if (reader.line_number() % 1024 == 0) {
      poll_interrupt();
      report(added);
    }
  }
  report(added);
  return added;
}

// Parses a text, a sentence per line, and writes a tree per line, in order.
Counts parse_text(const LatentParser& parser, nb::object input, const std::string& name,
                  nb::object output, size_t threads, nb::object progress) {
  constexpr size_t kBatch = 256;
  PythonSource source(std::move(input), name);
  PythonSink sink(std::move(output));
  const auto report = progress_callback(std::move(progress));
  std::vector<uint64_t> outcomes(3, 0);
  uint64_t sentences = 0;
  {
    const nb::gil_scoped_release release;
    LineReader reader(source);
    BufferedSink out(sink);
    std::string_view line;
    std::vector<std::string> lines(kBatch), trees(kBatch);
    std::vector<LatentParser::Outcome> results(kBatch);
    for (bool more = true; more;) {
      size_t count = 0;
      while (count < kBatch && (more = reader.next_text(line))) lines[count++] = line;
      parallel_for(count, threads, [&](size_t i) {
        std::vector<std::string_view> words;
        for_each_word(lines[i], " \t\r\v\f", [&](std::string_view w) { words.push_back(w); });
        results[i] = parser.parse(words, trees[i]);
      });
      for (size_t i = 0; i < count; ++i) {
        ++outcomes[static_cast<size_t>(results[i])];
        out.write(trees[i]);
        out.put('\n');
      }
      sentences += count;
      report(sentences);
    }
    out.flush();
  }
  Counts result;
  result["sentences"] = sentences;
  result["parsed"] = outcomes[0];
  result["flat"] = outcomes[1];
  result["none"] = outcomes[2];
  return result;
}

std::vector<std::string_view> views(const std::vector<std::string>& words) {
  return {words.begin(), words.end()};
}

}  // namespace

void bind_parser(nb::module_& m) {
  nb::class_<LatentTraining>(m, "ParserTraining", "The training of a parser from trees.")
      .def(
          "__init__",
          [](LatentTraining* self, double merge_share, double rule_smoothing, double word_smoothing,
             uint64_t seed, size_t threads, const std::string& binarise, bool lowercase,
             uint32_t rare, double prior) {
            new (self) LatentTraining({merge_share, rule_smoothing, word_smoothing, seed, threads,
                                       direction_of(binarise), lowercase, rare, prior});
          },
          nb::kw_only(), "merge_share"_a, "rule_smoothing"_a, "word_smoothing"_a, "seed"_a,
          "threads"_a, "binarise"_a, "lowercase"_a, "rare"_a, "prior"_a)
      .def("read", read_trees, "file"_a, "name"_a, "progress"_a.none(),
           "Add the trees of a file; return their number.")
      .def("begin", &LatentTraining::begin, nb::call_guard<nb::gil_scoped_release>())
      .def("iterate", &LatentTraining::iterate, nb::call_guard<nb::gil_scoped_release>(),
           "Run an iteration of EM; return the log-likelihood of the trees before it.")
      .def("split", &LatentTraining::split, nb::call_guard<nb::gil_scoped_release>())
      .def("merge", &LatentTraining::merge, nb::call_guard<nb::gil_scoped_release>(),
           "Undo the splits of least loss; return their number.")
      .def("smooth", &LatentTraining::smooth, nb::call_guard<nb::gil_scoped_release>())
      .def("likelihoods", &LatentTraining::likelihoods)
      .def("enumerated", &LatentTraining::enumerated, "tree"_a,
           "Return the log-likelihood of a tree by enumeration of its substates; for tests.")
      .def(
          "save",
          [](const LatentTraining& self, const FilePath& path, const std::string& info) {
            const nb::gil_scoped_release release;
            self.grammar().save(path.name, info);
          },
          "path"_a, "info"_a)
      .def("sizes", [](const LatentTraining& self) {
        const LatentGrammar& grammar = self.grammar();
        uint64_t substates = 0;
        for (const uint32_t k : grammar.substates) substates += k;
        Counts result;
        result["trees"] = self.trees();
        result["words"] = grammar.words.size();
        result["symbols"] = grammar.symbols.size();
        result["substates"] = substates;
        result["rules"] = grammar.binary.size() + grammar.unary.size();
        return result;
      });
  nb::class_<LatentParser>(m, "TreeParser", "A parser with a latent-annotation grammar.")
      .def_static(
          "open",
          [](const FilePath& path, double threshold, double beam, size_t most_words) {
            const nb::gil_scoped_release release;
            return new LatentParser(LatentGrammar::open(path.name),
                                    ParseSettings{threshold, beam, most_words});
          },
          "path"_a, "threshold"_a, "beam"_a, "most_words"_a)
      .def(
          "parse",
          [](const LatentParser& self, const std::vector<std::string>& words) {
            std::string text;
            {
              const nb::gil_scoped_release release;
              self.parse(views(words), text);
            }
            return text;
          },
          "words"_a, "Return the tree of a sentence in brackets.")
      .def(
          "likelihood",
          [](const LatentParser& self, const std::vector<std::string>& words) {
            const nb::gil_scoped_release release;
            return self.likelihood(views(words));
          },
          "words"_a, "Return the log of the inside score of a sentence, without pruning.")
      .def("parse_text", parse_text, "input"_a, "name"_a, "output"_a, "threads"_a,
           "progress"_a.none(),
           "Parse a text, a sentence per line; write a tree per line and return counts.");
}

}  // namespace hopefear::bind
