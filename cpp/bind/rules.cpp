#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bind/forest_arrays.hpp"
#include "rules/cdec_grammar.hpp"
#include "rules/moses_table.hpp"
#include "rules/rule_table.hpp"

namespace hopefear::bind {
namespace {

using namespace rules;

using Sizes = nb::typed<nb::dict, nb::str, nb::int_>;

Sizes import_moses(const FilePath& path, nb::object phrases, const std::string& phrase_name,
                   nb::object reordering, const std::string& reordering_name,
                   const std::vector<std::string>& columns,
                   const std::vector<std::string>& reordering_columns, bool reordering_by_source,
                   uint32_t limit, uint32_t longest_source, uint64_t memory, size_t threads,
                   const FilePath& scratch, const std::string& info, nb::object progress) {
  PythonSource phrase_source(std::move(phrases), phrase_name);
  std::unique_ptr<PythonSource> reordering_source;
  if (!reordering.is_none()) {
    reordering_source = std::make_unique<PythonSource>(std::move(reordering), reordering_name);
  }
  const MosesImport options = {columns, reordering_columns, reordering_by_source,
                               limit,   longest_source,     memory,
                               threads, scratch.name};
  const auto report_progress = progress_callback(std::move(progress));
  MosesImportReport report;
  {
    const nb::gil_scoped_release release;
    report = read_moses(phrase_source, reordering_source.get(), options, path.name, info,
                        report_progress);
  }
  Sizes result;
  result["rules"] = report.rules;
  result["source_sides"] = report.source_sides;
  result["over_limit"] = report.over_limit;
  result["without_reordering"] = report.without_reordering;
  result["too_long"] = report.too_long;
  return result;
}

// Text sources, each with a name for messages.
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

Sizes import_cdec(const FilePath& path, Named grammars, uint64_t memory, size_t threads,
                  const FilePath& scratch, const std::string& info, nb::object progress) {
  const Sources sources(std::move(grammars));
  const auto report_progress = progress_callback(std::move(progress));
  CdecImportReport report;
  {
    const nb::gil_scoped_release release;
    report =
        read_cdec(sources.all, {memory, threads, scratch.name}, path.name, info, report_progress);
  }
  Sizes result;
  result["rules"] = report.rules;
  result["source_sides"] = report.source_sides;
  result["columns"] = report.columns;
  result["sparse_features"] = report.sparse_features;
  return result;
}

// For text in memory, without a Python call per block.
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
      target.append(to_python(table.target_words().word(symbol)));
    }
  }
  for (const Link& link : view.links) {
    links.append(nb::make_tuple(static_cast<int>(link.source), static_cast<int>(link.target)));
  }
  for (const float score : view.scores) scores.append(static_cast<double>(score));
  nb::object sentence = nb::none(), label = nb::none();
  if (view.sentence != kManySentences) sentence = nb::int_(view.sentence);
  if (view.label != kNoLabel) label = to_python(table.labels().word(view.label));
  nb::list sparse;
  for (const SparseScore& score : view.sparse) {
    sparse.append(nb::make_tuple(to_python(table.sparse_names().word(score.feature)),
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
  nb::class_<RuleTable>(m, "RuleTable", "A memory-mapped table of rules, indexed by source side.")
      .def_static(
          "open",
          [](const FilePath& path) {
            const nb::gil_scoped_release release;
            return RuleTable::open(path.name);
          },
          "path"_a)
      .def("__len__", &RuleTable::size)
      .def_prop_ro("columns",
                   [](const RuleTable& table) {
                     std::vector<nb::str> names;
                     for (const std::string& name : table.columns().names) {
                       names.push_back(to_python(name));
                     }
                     return names;
                   })
      .def_prop_ro("sparse_names",
                   [](const RuleTable& table) {
                     std::vector<nb::str> names;
                     for (Word name = 0; name < table.sparse_names().size(); ++name) {
                       names.push_back(to_python(table.sparse_names().word(name)));
                     }
                     return names;
                   })
      .def_prop_ro("reordering", [](const RuleTable& table) { return table.columns().reordering; })
      .def_prop_ro("root", &RuleTable::root)
      .def_prop_ro("info", [](const RuleTable& table) { return to_python(table.info()); })
      .def_prop_ro("path", [](const RuleTable& table) { return to_python(table.file().path()); })
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
          "Return the child of a node by a word or a nonterminal's label number, None if there is "
          "none.")
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
                name = to_python(table.source_words().word(symbol));
              }
              result.append(nb::make_tuple(name, out.nodes[i]));
            }
            return result;
          },
          "node"_a, nb::sig("def edges(self, node: int) -> list[tuple[str | int, int]]"),
          "Return the symbols (a nonterminal as its label number) of a node's edges and their "
          "nodes.")
      .def(
          "rules",
          [](const RuleTable& table, RuleTable::Node node) {
            const RuleTable::Range range = table.rules(node);
            return nb::make_tuple(range.begin, range.end);
          },
          "node"_a, nb::sig("def rules(self, node: int) -> tuple[int, int]"),
          "Return the range of rule numbers of a node: begin, end.")
      .def("rule", rule_of, "number"_a,
           nb::sig("def rule(self, number: int) -> tuple[tuple[str | int, ...], "
                   "tuple[tuple[int, int], ...], tuple[float, ...], tuple[float, float, float], "
                   "int | None, str | None, tuple[tuple[str, float], ...]]"),
           "Return target symbols, links, scores, counts (target, source, joint), sentence, label "
           "and sparse scores of a rule.")
      .def(
          "fragment",
          [](const RuleTable& table, uint32_t number) {
            std::string text;
            for (const uint16_t token : table.fragment(number)) {
              if (token == kFragmentClose) {
                text += ')';
                continue;
              }
              if (!text.empty()) text += ' ';
              if (token == kFragmentLeaf) {
                text += '\n';
              } else {
                text += '(';
                text += table.labels().word(token);
              }
            }
            return to_python(text);
          },
          "number"_a, nb::sig("def fragment(self, number: int) -> str"),
          "Return the target side of a rule as a piece of tree, in brackets, with a line break for "
          "each target symbol; empty if the rule has none.")
      .def(
          "label",
          [](const RuleTable& table, uint32_t number) {
            return to_python(table.labels().word(number));
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
          [](const RuleTable& table, nb::object phrases, nb::object reordering, bool all_columns) {
            PythonSink phrase_sink(std::move(phrases));
            const std::unique_ptr<PythonSink> reordering_sink =
                optional_sink(std::move(reordering));
            const nb::gil_scoped_release release;
            write_moses(table, phrase_sink, reordering_sink.get(), all_columns);
          },
          "phrases"_a, "reordering"_a.none(), "all_columns"_a)
      .def(
          "write_cdec",
          [](const RuleTable& table, nb::object file, bool target_labels) {
            PythonSink sink(std::move(file));
            const nb::gil_scoped_release release;
            write_cdec(table, sink, target_labels);
          },
          "file"_a, "target_labels"_a);

  m.def("import_cdec", import_cdec, "path"_a, "grammars"_a, "memory"_a, "threads"_a, "scratch"_a,
        "info"_a, "progress"_a.none());
  m.def("read_cdec", read_cdec_text, "grammars"_a, "info"_a);
  m.def("import_moses", import_moses, "path"_a, "phrases"_a, "phrase_name"_a, "reordering"_a.none(),
        "reordering_name"_a, "columns"_a, "reordering_columns"_a, "reordering_by_source"_a,
        "limit"_a, "longest_source"_a, "memory"_a, "threads"_a, "scratch"_a, "info"_a,
        "progress"_a.none());
}

}  // namespace hopefear::bind
