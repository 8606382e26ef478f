#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bind/bind.hpp"
#include "rules/cdec_grammar.hpp"
#include "rules/extract.hpp"
#include "rules/moses_table.hpp"
#include "rules/rule_table.hpp"

namespace hopefear::bind {
namespace {

using namespace rules;

nb::str text_of(std::string_view word) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(word.data(), static_cast<Py_ssize_t>(word.size()), "surrogateescape"));
}

ExtractOptions make_options(uint32_t max_length, uint32_t reordering, uint32_t limit,
                            double min_count, const std::string& significance, uint64_t memory,
                            size_t threads, const std::string& scratch) {
  if (max_length < 1 || max_length > 100) throw nb::value_error("max_length: from 1 to 100");
  if (reordering != 0 && reordering != 3 && reordering != 6) {
    throw nb::value_error("reordering: 0, 3 or 6");
  }
  if (threads < 1) throw nb::value_error("threads: at least 1");
  ExtractOptions options;
  options.max_length = max_length;
  options.reordering = reordering;
  options.limit = limit;
  options.min_count = min_count;
  options.memory = memory;
  options.threads = threads;
  options.scratch_directory = scratch;
  using Significance = ExtractOptions::Significance;
  if (significance == "off") {
    options.significance = Significance::off;
  } else if (significance == "alpha+epsilon") {
    options.significance = Significance::alpha_plus;
  } else if (significance == "alpha-epsilon") {
    options.significance = Significance::alpha_minus;
  } else {
    options.significance = Significance::value;
    options.significance_value = std::stod(significance);
  }
  return options;
}

using Numbers = nb::typed<nb::dict, nb::str, nb::float_>;
using Sizes = nb::typed<nb::dict, nb::str, nb::int_>;

Numbers report_of(const ExtractReport& report) {
  Numbers result;
  result["sentences"] = report.sentences;
  result["occurrences"] = report.occurrences;
  result["pairs"] = report.pairs;
  result["below_min_count"] = report.below_min_count;
  result["not_significant"] = report.not_significant;
  result["significance"] = report.significance;
  result["over_limit"] = report.over_limit;
  result["rules"] = report.rules;
  result["source_sides"] = report.source_sides;
  result["one_sentence"] = report.one_sentence;
  result["spilled_bytes"] = report.spilled;
  return result;
}

// Text sinks, each with the file that it writes to; None: absent.
std::unique_ptr<PythonSink> sink_of(nb::object file) {
  return file.is_none() ? nullptr : std::make_unique<PythonSink>(std::move(file));
}

Numbers write_table(PhraseExtraction& extraction, const std::string& path, const std::string& info,
                    nb::object phrases, nb::object reordering, nb::object progress) {
  const std::unique_ptr<PythonSink> phrase_sink = sink_of(std::move(phrases));
  const std::unique_ptr<PythonSink> reordering_sink = sink_of(std::move(reordering));
  const auto report_progress = progress_callback(std::move(progress));
  ExtractReport report;
  {
    const nb::gil_scoped_release release;
    std::unique_ptr<MosesWriter> text;
    if (phrase_sink != nullptr) {
      text = std::make_unique<MosesWriter>(
          *phrase_sink, reordering_sink.get(), phrase_columns(0).size(),
          [&](Word word) { return extraction.source_codec().words()[word]; },
          [&](Word word) { return extraction.target_codec().words()[word]; });
    }
    report = extraction.write(path, info, text.get(), report_progress);
    if (text != nullptr) text->flush();
  }
  return report_of(report);
}

Sizes import_moses(const std::string& path, nb::object phrases, const std::string& phrase_name,
                   nb::object reordering, const std::string& reordering_name,
                   const std::vector<std::string>& columns,
                   const std::vector<std::string>& reordering_columns, uint32_t limit,
                   uint64_t memory, size_t threads, const std::string& scratch,
                   const std::string& info, nb::object progress) {
  PythonSource phrase_source(std::move(phrases), phrase_name);
  std::unique_ptr<PythonSource> reordering_source;
  if (!reordering.is_none()) {
    reordering_source = std::make_unique<PythonSource>(std::move(reordering), reordering_name);
  }
  const MosesImport options = {columns, reordering_columns, limit, memory, threads, scratch};
  const auto report_progress = progress_callback(std::move(progress));
  MosesImportReport report;
  {
    const nb::gil_scoped_release release;
    report =
        read_moses(phrase_source, reordering_source.get(), options, path, info, report_progress);
  }
  Sizes result;
  result["rules"] = report.rules;
  result["source_sides"] = report.source_sides;
  result["over_limit"] = report.over_limit;
  result["without_reordering"] = report.without_reordering;
  return result;
}

// Sources of text, each with the name that messages use.
using Named = std::vector<std::pair<nb::object, std::string>>;
struct Sources {
  explicit Sources(Named files) {
    for (auto& [file, name] : files) {
      held.push_back(std::make_unique<PythonSource>(std::move(file), name));
      all.push_back(held.back().get());
    }
  }
  std::vector<std::unique_ptr<PythonSource>> held;
  std::vector<ByteSource*> all;
};

Sizes import_cdec(const std::string& path, Named grammars, uint64_t memory, size_t threads,
                  const std::string& scratch, const std::string& info, nb::object progress) {
  const Sources sources(std::move(grammars));
  const auto report_progress = progress_callback(std::move(progress));
  CdecImportReport report;
  {
    const nb::gil_scoped_release release;
    report = read_cdec(sources.all, {memory, threads, scratch}, path, info, report_progress);
  }
  Sizes result;
  result["rules"] = report.rules;
  result["source_sides"] = report.source_sides;
  result["columns"] = report.columns;
  result["sparse_features"] = report.sparse_features;
  return result;
}

// Text that is in memory already: no call of Python for each block.
RuleTable read_cdec_text(const std::vector<std::pair<nb::bytes, std::string>>& grammars,
                         const std::string& info) {
  std::vector<std::unique_ptr<MemorySource>> held;
  std::vector<ByteSource*> sources;
  for (const auto& [text, name] : grammars) {
    held.push_back(
        std::make_unique<MemorySource>(name, std::string_view(text.c_str(), text.size())));
    sources.push_back(held.back().get());
  }
  const nb::gil_scoped_release release;
  return read_cdec(sources, info);
}

// (target symbols, links, scores, counts, sentence, label, sparse scores) of a rule.
nb::tuple rule_of(const RuleTable& table, uint32_t number) {
  const RuleView view = table.rule(number);
  nb::list target, links, scores;
  for (const Symbol symbol : view.target) {
    if (is_nonterminal(symbol)) {
      target.append(nb::int_(nonterminal(symbol)));
    } else {
      target.append(text_of(table.target_words().word(symbol)));
    }
  }
  for (const Link& link : view.links) {
    links.append(nb::make_tuple(static_cast<int>(link.source), static_cast<int>(link.target)));
  }
  for (const float score : view.scores) scores.append(static_cast<double>(score));
  nb::object sentence = nb::none(), label = nb::none();
  if (view.sentence != kManySentences) sentence = nb::int_(view.sentence);
  if (view.label != kNoLabel) label = text_of(table.labels().word(view.label));
  nb::list sparse;
  for (const SparseScore& score : view.sparse) {
    sparse.append(nb::make_tuple(text_of(table.sparse_names().word(score.feature)),
                                 static_cast<double>(score.value)));
  }
  return nb::make_tuple(nb::tuple(target), nb::tuple(links), nb::tuple(scores),
                        nb::make_tuple(static_cast<double>(view.counts.target),
                                       static_cast<double>(view.counts.source),
                                       static_cast<double>(view.counts.joint)),
                        sentence, label, nb::tuple(sparse));
}

Sizes statistics_of(const RuleTable& table) {
  Sizes result;
  result["rules"] = table.size();
  result["source_sides"] = table.layout().source_sides;
  result["one_sentence"] = table.layout().one_sentence;
  result["nodes"] = table.node_count();
  result["source_words"] = table.source_words().size();
  result["target_words"] = table.target_words().size();
  result["longest_source"] = table.layout().longest_source;
  result["longest_target"] = table.layout().longest_target;
  result["labels"] = table.labels().size();
  result["sparse_features"] = table.sparse_names().size();
  result["bytes"] = table.file().size();
  return result;
}

}  // namespace

void bind_rules(nb::module_& m) {
  nb::class_<PhraseExtraction>(m, "PhraseExtraction",
                               "Phrase pairs of an aligned bitext, step by step.")
      .def(
          "__init__",
          [](PhraseExtraction* self, uint32_t max_length, uint32_t reordering, uint32_t limit,
             double min_count, const std::string& significance, uint64_t memory, size_t threads,
             const std::string& scratch) {
            new (self) PhraseExtraction(make_options(max_length, reordering, limit, min_count,
                                                     significance, memory, threads, scratch));
          },
          "max_length"_a, "reordering"_a, "limit"_a, "min_count"_a, "significance"_a, "memory"_a,
          "threads"_a, "scratch"_a)
      .def(
          "read",
          [](PhraseExtraction& self, nb::object source, const std::string& source_name,
             nb::object target, const std::string& target_name, nb::object alignment,
             const std::string& alignment_name, nb::object progress) {
            PythonSource source_file(std::move(source), source_name);
            PythonSource target_file(std::move(target), target_name);
            PythonSource alignment_file(std::move(alignment), alignment_name);
            const auto report_progress = progress_callback(std::move(progress));
            const nb::gil_scoped_release release;
            self.read(source_file, target_file, alignment_file, report_progress);
          },
          "source"_a, "source_name"_a, "target"_a, "target_name"_a, "alignment"_a,
          "alignment_name"_a, "progress"_a.none())
      .def(
          "extract",
          [](PhraseExtraction& self, nb::object progress) {
            const auto report_progress = progress_callback(std::move(progress));
            const nb::gil_scoped_release release;
            self.extract(report_progress);
          },
          "progress"_a.none())
      .def(
          "count",
          [](PhraseExtraction& self, nb::object progress) {
            const auto report_progress = progress_callback(std::move(progress));
            const nb::gil_scoped_release release;
            self.count(report_progress);
          },
          "progress"_a.none())
      .def("write", write_table, "path"_a, "info"_a, "phrases"_a.none(), "reordering"_a.none(),
           "progress"_a.none())
      .def(
          "write_lexicon",
          [](const PhraseExtraction& self, nb::object file, bool predict_target) {
            PythonSink sink(std::move(file));
            const nb::gil_scoped_release release;
            const AlignedCorpus& corpus = self.corpus();
            corpus.lexicon().write(sink, predict_target, corpus.source_words(),
                                   corpus.target_words());
          },
          "file"_a, "predict_target"_a)
      .def_prop_ro("sentences", &PhraseExtraction::sentences)
      .def_prop_ro("pairs", &PhraseExtraction::pairs);

  nb::class_<RuleTable>(m, "RuleTable", "Rules indexed by source side, memory-mapped.")
      .def_static(
          "open",
          [](const std::string& path, bool verify) {
            const nb::gil_scoped_release release;
            return RuleTable::open(path, verify ? Verify::full : Verify::quick);
          },
          "path"_a, "verify"_a)
      .def("__len__", &RuleTable::size)
      .def_prop_ro("columns", [](const RuleTable& table) { return table.columns().names; })
      .def_prop_ro("reordering", [](const RuleTable& table) { return table.columns().reordering; })
      .def_prop_ro("root", &RuleTable::root)
      .def_prop_ro("info", [](const RuleTable& table) { return text_of(table.info()); })
      .def("statistics", statistics_of)
      .def(
          "child",
          [](const RuleTable& table, RuleTable::Node node,
             nb::handle symbol) -> std::optional<RuleTable::Node> {
            Symbol id;
            if (nb::isinstance<nb::int_>(symbol)) {
              id = kNonterminal | nb::cast<uint32_t>(symbol);
            } else {
              id = table.source_words().find(nb::cast<std::string_view>(symbol));
              if (id == kNoWord) return std::nullopt;
            }
            const RuleTable::Node next = table.child(node, id);
            if (next == RuleTable::kNoNode) return std::nullopt;
            return next;
          },
          "node"_a, "symbol"_a,
          nb::sig("def child(self, node: int, symbol: str | int) -> int | None"),
          "The node behind a word or the label number of a nonterminal, None if there is none.")
      .def(
          "edges",
          [](const RuleTable& table, RuleTable::Node node) {
            const RuleTable::Edges out = table.edges(node);
            nb::list result;
            for (size_t i = 0; i < out.symbols.size(); ++i) {
              const Symbol symbol = out.symbols[i];
              if (out.nodes[i] >= node) throw table.file().damaged("an edge leads upwards");
              nb::object name;
              if (is_nonterminal(symbol)) {
                name = nb::int_(nonterminal(symbol));
              } else {
                name = text_of(table.source_words().word(symbol));
              }
              result.append(nb::make_tuple(name, out.nodes[i]));
            }
            return result;
          },
          "node"_a, nb::sig("def edges(self, node: int) -> list[tuple[str | int, int]]"),
          "Symbols (a nonterminal as the number of its label) and the nodes behind them.")
      .def(
          "rules",
          [](const RuleTable& table, RuleTable::Node node) {
            const RuleTable::Range range = table.rules(node);
            return nb::make_tuple(range.begin, range.end);
          },
          "node"_a, nb::sig("def rules(self, node: int) -> tuple[int, int]"))
      .def("rule", rule_of, "number"_a,
           nb::sig("def rule(self, number: int) -> tuple[tuple[str | int, ...], "
                   "tuple[tuple[int, int], ...], tuple[float, ...], tuple[float, float, float], "
                   "int | None, str | None, tuple[tuple[str, float], ...]]"))
      .def(
          "label",
          [](const RuleTable& table, uint32_t number) {
            return text_of(table.labels().word(number));
          },
          "number"_a)
      .def(
          "find_label",
          [](const RuleTable& table, std::string_view name) -> std::optional<uint32_t> {
            for (uint32_t i = 0; i < table.labels().size(); ++i) {
              if (table.labels().word(i) == name) return i;
            }
            return std::nullopt;
          },
          "name"_a)
      .def(
          "write_moses",
          [](const RuleTable& table, nb::object phrases, nb::object reordering) {
            PythonSink phrase_sink(std::move(phrases));
            const std::unique_ptr<PythonSink> reordering_sink = sink_of(std::move(reordering));
            const nb::gil_scoped_release release;
            write_moses(table, phrase_sink, reordering_sink.get());
          },
          "phrases"_a, "reordering"_a.none())
      .def(
          "write_cdec",
          [](const RuleTable& table, nb::object file) {
            PythonSink sink(std::move(file));
            const nb::gil_scoped_release release;
            write_cdec(table, sink);
          },
          "file"_a);

  m.def("import_cdec", import_cdec, "path"_a, "grammars"_a, "memory"_a, "threads"_a, "scratch"_a,
        "info"_a, "progress"_a.none());
  m.def("read_cdec", read_cdec_text, "grammars"_a, "info"_a);
  m.def("import_moses", import_moses, "path"_a, "phrases"_a, "phrase_name"_a, "reordering"_a.none(),
        "reordering_name"_a, "columns"_a, "reordering_columns"_a, "limit"_a, "memory"_a,
        "threads"_a, "scratch"_a, "info"_a, "progress"_a.none());
}

}  // namespace hopefear::bind
