#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <span>

#include "bind/bind.hpp"
#include "rules/cdec_grammar.hpp"
#include "rules/extract.hpp"
#include "rules/good_turing.hpp"
#include "rules/moses_table.hpp"
#include "rules/occurrences.hpp"
#include "rules/word_lists.hpp"
#include "syntax/brackets.hpp"

namespace hopefear::bind {
namespace {

using namespace rules;

HieroOptions make_hiero(uint32_t max_span, uint32_t max_symbols, uint32_t max_nonterminals,
                        uint32_t min_hole, bool adjacent, bool aligned, bool tight, bool fractional,
                        double min_count) {
  if (max_span < 1 || max_span > 100) throw nb::value_error("max_span must be from 1 to 100");
  if (max_nonterminals > 2) throw nb::value_error("max_nonterminals must be from 0 to 2");
  return {max_span, max_symbols, max_nonterminals, min_hole, adjacent,
          aligned,  tight,       fractional,       min_count};
}

using Texts = std::vector<std::string>;
using Points = std::vector<std::pair<uint32_t, uint32_t>>;

// A sentence pair whose words are numbered by position.
SentencePair numbered(const Texts& source, const Texts& target, const Points& points) {
  SentencePair pair;
  for (Word i = 0; i < source.size(); ++i) pair.source.push_back(i);
  for (Word i = 0; i < target.size(); ++i) pair.target.push_back(i);
  for (const auto& [f, e] : points) {
    if (f >= source.size() || e >= target.size())
      throw nb::value_error("alignment point outside of the sentence pair");
    pair.points.push_back({f, e});
  }
  std::sort(pair.points.begin(), pair.points.end());
  pair.points.erase(std::unique(pair.points.begin(), pair.points.end()), pair.points.end());
  return pair;
}

syntax::Binarisation binarisation_of(const std::string& name) {
  if (name == "none") return syntax::Binarisation::none;
  if (name == "left") return syntax::Binarisation::left;
  if (name == "right") return syntax::Binarisation::right;
  if (name == "head") return syntax::Binarisation::head;
  throw nb::value_error("binarise must be none, left, right or head");
}

// A target side as a piece of tree: [NP [DT the] [NN]], with nonterminals as in the target.
template <typename Label, typename Leaf>
std::string fragment_text(std::span<const uint16_t> fragment, const Label& label,
                          const Leaf& leaf) {
  std::string text;
  size_t leaves = 0;
  for (const uint16_t token : fragment) {
    if (token == kFragmentClose) {
      text += ')';
      continue;
    }
    if (!text.empty()) text += ' ';
    if (token == kFragmentLeaf) {
      text += leaf(leaves++);
    } else {
      text += '(';
      text += label(token);
    }
  }
  return text;
}

// The tree rules of one sentence pair: (source, target, links, label, fragment, count) for each
// occurrence. Nonterminals are labels in a tuple on the source side, numbers on the target side.
// For tests and inspection.
nb::list ghkm_rules(const GhkmOptions& options, const std::string& binarise, const Texts& source,
                    const std::string& line, const Points& points) {
  WordNumbers labels, words;
  syntax::Tree tree;
  syntax::read_tree(line, "tree", labels, words, tree);
  Texts target;
  for (const uint32_t word : tree.words) target.emplace_back(words.word(word));
  tree = syntax::binarised(tree, binarisation_of(binarise), labels);
  const SentencePair pair = numbered(source, target, points);
  nb::list result;
  GhkmExtractor extractor(options);
  extractor(pair, tree, [&](const GhkmOccurrence& rule) {
    nb::list left, right, links;
    for (const Symbol symbol : rule.source) {
      if (is_nonterminal(symbol)) {
        left.append(nb::make_tuple(std::string(labels.word(nonterminal(symbol)))));
      } else {
        left.append(source[symbol]);
      }
    }
    for (const Symbol symbol : rule.target) {
      if (is_nonterminal(symbol)) {
        right.append(nb::int_(nonterminal(symbol)));
      } else {
        right.append(target[symbol]);
      }
    }
    for (const Link& link : rule.links) {
      links.append(nb::make_tuple(static_cast<int>(link.source), static_cast<int>(link.target)));
    }
    const std::string fragment = fragment_text(
        rule.fragment, [&](uint16_t label) { return std::string(labels.word(label)); },
        [&](size_t i) {
          const Symbol symbol = rule.target[i];
          return is_nonterminal(symbol) ? "[" + std::to_string(nonterminal(symbol) + 1) + "]"
                                        : target[symbol];
        });
    result.append(nb::make_tuple(nb::tuple(left), nb::tuple(right), nb::tuple(links),
                                 std::string(labels.word(rule.label)), fragment, rule.count));
  });
  return result;
}

// The label of a span of target words, for tests and inspection.
std::string span_label(const std::string& line, uint32_t begin, uint32_t end) {
  WordNumbers labels, words;
  labels.add(kDefaultLabel);
  syntax::Tree tree;
  syntax::read_tree(line, "tree", labels, words, tree);
  if (begin >= end || end > tree.words.size()) throw nb::value_error("no such span");
  const SpanLabelNumbers numbers(static_cast<uint32_t>(labels.size()));
  SpanLabels spans(numbers);
  spans.read(tree, tree.words.size());
  return numbers.name(spans.of(begin, end - 1), labels);
}

// The rules of one sentence pair: (source, target, links, count) for each occurrence. Nonterminals
// are None on the source side and numbers on the target side. For tests and inspection.
nb::list hiero_rules(const HieroOptions& options, const std::vector<std::string>& source,
                     const std::vector<std::string>& target,
                     const std::vector<std::pair<uint32_t, uint32_t>>& points) {
  const SentencePair pair = numbered(source, target, points);
  nb::list result;
  HieroExtractor extractor(options);
  extractor(pair, [&](const HieroOccurrence& occurrence) {
    nb::list left, right, links;
    for (const Symbol symbol : occurrence.source) {
      if (is_nonterminal(symbol)) {
        left.append(nb::none());
      } else {
        left.append(nb::str(source[symbol].c_str()));
      }
    }
    for (const Symbol symbol : occurrence.target) {
      if (is_nonterminal(symbol)) {
        right.append(nb::int_(nonterminal(symbol)));
      } else {
        right.append(nb::str(target[symbol].c_str()));
      }
    }
    for (const Link& link : occurrence.links) {
      links.append(nb::make_tuple(static_cast<int>(link.source), static_cast<int>(link.target)));
    }
    result.append(nb::make_tuple(nb::tuple(left), nb::tuple(right), nb::tuple(links),
                                 1.0 / occurrence.siblings));
  });
  return result;
}

ExtractOptions make_options(const HieroOptions* hiero, const GhkmOptions* ghkm, bool labels,
                            const std::string& binarise, uint32_t max_length, uint32_t reordering,
                            uint32_t limit, double min_count, const std::string& significance,
                            uint64_t memory, size_t threads, const FilePath& scratch) {
  if (max_length < 1 || max_length > 100) throw nb::value_error("max_length must be from 1 to 100");
  if (reordering != 0 && reordering != 3 && reordering != 6) {
    throw nb::value_error("reordering must be 0, 3 or 6");
  }
  if (threads < 1) throw nb::value_error("threads must be at least 1");
  using Significance = ExtractOptions::Significance;
  using Kind = ExtractOptions::Kind;
  const Kind hierarchical = labels ? Kind::samt : Kind::hiero;
  ExtractOptions options{ghkm != nullptr    ? Kind::tree
                         : hiero != nullptr ? hierarchical
                                            : Kind::phrase,
                         hiero != nullptr ? *hiero : HieroOptions{},
                         ghkm != nullptr ? *ghkm : GhkmOptions{},
                         binarisation_of(binarise),
                         max_length,
                         reordering,
                         limit,
                         min_count,
                         Significance::off,
                         0,
                         memory,
                         threads,
                         scratch.name};
  if (significance == "alpha+epsilon") {
    options.significance = Significance::alpha_plus;
  } else if (significance == "alpha-epsilon") {
    options.significance = Significance::alpha_minus;
  } else if (significance != "off") {
    options.significance = Significance::value;
    options.significance_value = std::stod(significance);
  }
  return options;
}

using Numbers = nb::typed<nb::dict, nb::str, nb::float_>;

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
  result["trees"] = report.trees;
  result["labels"] = report.labels;
  result["truncated_nodes"] = report.truncated;
  return result;
}

// Writes the table and, unless None, Moses text to `phrases` and `reordering` or cdec text to
// `grammar`.
Numbers write_table(RuleExtraction& extraction, const FilePath& path, const std::string& info,
                    nb::object phrases, nb::object reordering, nb::object grammar,
                    nb::object progress) {
  const std::unique_ptr<PythonSink> phrase_sink = optional_sink(std::move(phrases));
  const std::unique_ptr<PythonSink> reordering_sink = optional_sink(std::move(reordering));
  const std::unique_ptr<PythonSink> grammar_sink = optional_sink(std::move(grammar));
  const auto report_progress = progress_callback(std::move(progress));
  ExtractReport report;
  {
    const nb::gil_scoped_release release;
    const auto source = [&](Word word) { return extraction.source_codec().texts()[word]; };
    const auto target = [&](Word word) { return extraction.target_codec().texts()[word]; };
    const auto label = [&](Word number) { return extraction.label(number); };
    std::unique_ptr<MosesWriter> text;
    std::unique_ptr<CdecWriter> lines;
    if (phrase_sink != nullptr) {
      text = std::make_unique<MosesWriter>(*phrase_sink, reordering_sink.get(),
                                           phrase_columns(0).size(), source, target, label);
    } else if (grammar_sink != nullptr) {
      lines = std::make_unique<CdecWriter>(
          *grammar_sink, extraction.columns(),
          CdecWriter::Names{source, target, label, [](Word) { return std::string_view(); }});
    }
    RuleSink* sink = text.get();
    if (lines != nullptr) sink = lines.get();
    report = extraction.write(path.name, info, sink, report_progress);
    if (text != nullptr) text->flush();
    if (lines != nullptr) lines->flush();
  }
  return report_of(report);
}

using CountedWords = std::vector<std::tuple<std::string, std::string, uint64_t>>;

CountedWords to_tuples(const std::vector<CountedWord>& list) {
  CountedWords result;
  for (const CountedWord& entry : list) result.emplace_back(entry.word, entry.other, entry.count);
  return result;
}

// Word lists by name.
std::map<std::string, CountedWords> word_lists(nb::object source, const std::string& source_name,
                                               nb::object target, const std::string& target_name,
                                               nb::object alignment,
                                               const std::string& alignment_name, size_t limit,
                                               const FilePath& scratch, nb::object progress) {
  PythonSource source_file(std::move(source), source_name);
  PythonSource target_file(std::move(target), target_name);
  PythonSource alignment_file(std::move(alignment), alignment_name);
  const auto report_progress = progress_callback(std::move(progress));
  const nb::gil_scoped_release release;
  const WordLists lists = count_word_lists(source_file, target_file, alignment_file, limit,
                                           scratch.name, report_progress);
  return {{"pairs", to_tuples(lists.pairs)},
          {"source", to_tuples(lists.source)},
          {"target", to_tuples(lists.target)},
          {"inserted", to_tuples(lists.inserted)},
          {"deleted", to_tuples(lists.deleted)}};
}

// Numbers as bytes, to be sent to another process, and back.
nb::bytes to_bytes(std::span<const uint32_t> numbers) {
  return nb::bytes(numbers.data(), numbers.size_bytes());
}
std::vector<uint32_t> from_bytes(const nb::bytes& bytes) {
  if (bytes.size() % sizeof(uint32_t) != 0) throw nb::value_error("expected 4-byte numbers");
  std::vector<uint32_t> numbers(bytes.size() / sizeof(uint32_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.c_str(), bytes.size());
  return numbers;
}

// The number of the first sentence of some blocks, and their data.
nb::typed<nb::tuple, uint64_t, nb::bytes> blocks_of(const RuleExtraction& self, size_t begin,
                                                    size_t end) {
  const AlignedCorpus& corpus = self.corpus();
  if (begin > end || end > corpus.blocks()) throw nb::index_error("no such block");
  std::vector<uint32_t> numbers;
  for (size_t block = begin; block < end; ++block) {
    const std::vector<uint32_t> more = corpus.data(block);
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  return nb::borrow<nb::typed<nb::tuple, uint64_t, nb::bytes>>(
      nb::make_tuple(corpus.first_sentence(begin), to_bytes(numbers)));
}

}  // namespace

void bind_extract(nb::module_& m) {
  m.def("word_lists", word_lists, "source"_a, "source_name"_a, "target"_a, "target_name"_a,
        "alignment"_a, "alignment_name"_a, "limit"_a, "scratch"_a, "progress"_a.none(),
        "Return the most frequent words, linked pairs and unaligned words of an aligned text, by "
        "list name.");
  nb::class_<HieroOptions>(m, "HieroOptions", "Options of the extraction of hierarchical rules.")
      .def(
          "__init__",
          [](HieroOptions* self, uint32_t max_span, uint32_t max_symbols, uint32_t max_nonterminals,
             uint32_t min_hole, bool adjacent, bool aligned, bool tight, bool fractional,
             double min_count) {
            new (self) HieroOptions(make_hiero(max_span, max_symbols, max_nonterminals, min_hole,
                                               adjacent, aligned, tight, fractional, min_count));
          },
          "max_span"_a, "max_symbols"_a, "max_nonterminals"_a, "min_hole"_a, "adjacent"_a,
          "aligned"_a, "tight"_a, "fractional"_a, "min_count"_a);
  m.def("hiero_rules", hiero_rules, "options"_a, "source"_a, "target"_a, "points"_a,
        nb::sig("def hiero_rules(options: HieroOptions, source: collections.abc.Sequence[str], "
                "target: collections.abc.Sequence[str], "
                "points: collections.abc.Sequence[tuple[int, int]]) -> "
                "list[tuple[tuple[str | None, ...], tuple[str | int, ...], "
                "tuple[tuple[int, int], ...], float]]"),
        "Return the hierarchical rules of one sentence pair: (source, target, links, count) each.");

  nb::class_<GhkmOptions>(m, "GhkmOptions", "Options of the extraction of string-to-tree rules.")
      .def(
          "__init__",
          [](GhkmOptions* self, bool composed, uint32_t max_nodes, uint32_t max_size,
             uint32_t max_depth, uint32_t max_scope, uint32_t max_symbols, bool unary, bool all,
             uint32_t max_attached, bool fractional) {
            if (max_symbols < 1 || max_symbols > 100) {
              throw nb::value_error("max_symbols must be from 1 to 100");
            }
            new (self) GhkmOptions{composed,    max_nodes, max_size, max_depth,    max_scope,
                                   max_symbols, unary,     all,      max_attached, fractional};
          },
          nb::kw_only(), "composed"_a, "max_nodes"_a, "max_size"_a, "max_depth"_a, "max_scope"_a,
          "max_symbols"_a, "unary"_a, "all"_a, "max_attached"_a, "fractional"_a);
  m.def("ghkm_rules", ghkm_rules, "options"_a, "binarise"_a, "source"_a, "tree"_a, "points"_a,
        nb::sig("def ghkm_rules(options: GhkmOptions, binarise: str, "
                "source: collections.abc.Sequence[str], tree: str, "
                "points: collections.abc.Sequence[tuple[int, int]]) -> "
                "list[tuple[tuple[str | tuple[str], ...], tuple[str | int, ...], "
                "tuple[tuple[int, int], ...], str, str, float]]"),
        "Return the tree rules of one sentence pair: (source, target, links, label, fragment, "
        "count) each.");
  m.def("span_label", span_label, "tree"_a, "begin"_a, "end"_a,
        "Return the label that hierarchical rules with labels give a span of target words.");
  m.def(
      "good_turing",
      [](const std::map<uint64_t, uint64_t>& counts) {
        const GoodTuring discounted(counts);
        std::map<uint64_t, double> result;
        for (const auto& [count, types] : counts) result[count] = discounted(count);
        return result;
      },
      "counts"_a, "Return the Good-Turing discounted counts, given numbers of types by count.");

  nb::class_<RuleExtraction>(m, "RuleExtraction",
                             "Extraction of phrase pairs or hierarchical rules from an aligned "
                             "bitext: read, extract, count, write.")
      .def(
          "__init__",
          [](RuleExtraction* self, const HieroOptions* hiero, const GhkmOptions* ghkm, bool labels,
             const std::string& binarise, uint32_t max_length, uint32_t reordering, uint32_t limit,
             double min_count, const std::string& significance, uint64_t memory, size_t threads,
             const FilePath& scratch) {
            new (self) RuleExtraction(make_options(hiero, ghkm, labels, binarise, max_length,
                                                   reordering, limit, min_count, significance,
                                                   memory, threads, scratch));
          },
          "hiero"_a.none(), "ghkm"_a.none(), "labels"_a, "binarise"_a, "max_length"_a,
          "reordering"_a, "limit"_a, "min_count"_a, "significance"_a, "memory"_a, "threads"_a,
          "scratch"_a)
      .def(
          "read",
          [](RuleExtraction& self, nb::object source, const std::string& source_name,
             nb::object target, const std::string& target_name, nb::object alignment,
             const std::string& alignment_name, nb::object trees, const std::string& trees_name,
             nb::object progress) {
            PythonSource source_file(std::move(source), source_name);
            PythonSource target_file(std::move(target), target_name);
            PythonSource alignment_file(std::move(alignment), alignment_name);
            std::unique_ptr<PythonSource> tree_file;
            if (!trees.is_none()) {
              tree_file = std::make_unique<PythonSource>(std::move(trees), trees_name);
            }
            const auto report_progress = progress_callback(std::move(progress));
            const nb::gil_scoped_release release;
            self.read(source_file, target_file, alignment_file, tree_file.get(), report_progress);
          },
          "source"_a, "source_name"_a, "target"_a, "target_name"_a, "alignment"_a,
          "alignment_name"_a, "trees"_a.none(), "trees_name"_a, "progress"_a.none())
      .def(
          "extract",
          [](RuleExtraction& self, nb::object progress) {
            const auto report_progress = progress_callback(std::move(progress));
            const nb::gil_scoped_release release;
            self.extract(report_progress);
          },
          "progress"_a.none())
      .def_prop_ro("blocks", [](const RuleExtraction& self) { return self.corpus().blocks(); })
      .def("block_data", blocks_of, "begin"_a, "end"_a,
           "Return the number of the first sentence of some blocks of the text, and their data.")
      .def(
          "encoders",
          [](const RuleExtraction& self) {
            return nb::borrow<nb::typed<nb::tuple, nb::bytes, nb::bytes>>(nb::make_tuple(
                to_bytes(self.source_codec().state()), to_bytes(self.target_codec().state())));
          },
          "Return what a `RunExtractor` needs besides the options.")
      .def("begin_runs", &RuleExtraction::begin_runs,
           "In place of `extract`, with `add_run` for every part of the text and `end_runs`.")
      .def(
          "add_run",
          [](RuleExtraction& self, const nb::bytes& run, uint64_t records) {
            const std::string_view bytes(run.c_str(), run.size());
            const nb::gil_scoped_release release;
            self.add_run(bytes, records);
          },
          "run"_a, "records"_a)
      .def("end_runs", &RuleExtraction::end_runs, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "count",
          [](RuleExtraction& self, nb::object progress) {
            const auto report_progress = progress_callback(std::move(progress));
            const nb::gil_scoped_release release;
            self.count(report_progress);
          },
          "progress"_a.none())
      .def("write", write_table, "path"_a, "info"_a, "phrases"_a.none(), "reordering"_a.none(),
           "grammar"_a.none(), "progress"_a.none())
      .def(
          "write_lexicon",
          [](const RuleExtraction& self, nb::object file, bool predict_target) {
            PythonSink sink(std::move(file));
            const nb::gil_scoped_release release;
            const AlignedCorpus& corpus = self.corpus();
            corpus.lexicon().write(sink, predict_target, corpus.source_words(),
                                   corpus.target_words());
          },
          "file"_a, "predict_target"_a)
      .def_prop_ro("sentences", &RuleExtraction::sentences)
      .def_prop_ro("pairs", &RuleExtraction::pairs);

  nb::class_<RunExtractor>(m, "RunExtractor",
                           "Extraction from parts of the text of a `RuleExtraction`, in any "
                           "process.")
      .def(
          "__init__",
          [](RunExtractor* self, const HieroOptions* hiero, uint32_t max_length, uint64_t memory,
             const FilePath& scratch, const nb::bytes& source, const nb::bytes& target) {
            new (self) RunExtractor(make_options(hiero, nullptr, false, "none", max_length, 0, 0, 0,
                                                 "off", memory, 1, scratch),
                                    from_bytes(source), from_bytes(target));
          },
          "hiero"_a.none(), "max_length"_a, "memory"_a, "scratch"_a, "source"_a, "target"_a)
      .def(
          "__call__",
          [](const RunExtractor& self, uint64_t first, const nb::bytes& data) {
            const std::vector<uint32_t> block = from_bytes(data);
            RunExtractor::SortedRun run;
            {
              const nb::gil_scoped_release release;
              run = self(first, block);
            }
            return nb::borrow<nb::typed<nb::tuple, nb::bytes, uint64_t>>(
                nb::make_tuple(nb::bytes(run.coded.data(), run.coded.size()), run.records));
          },
          "first"_a, "data"_a, "Return the sorted records of a part, and their number.");
}

}  // namespace hopefear::bind
