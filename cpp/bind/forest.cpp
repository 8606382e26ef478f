// Forest, its builder, vocabulary and derivations.
#include "forest/forest.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/forest_arrays.hpp"
#include "forest/builder.hpp"
#include "forest/derivation.hpp"

namespace hopefear::bind {

nb::str to_python(std::string_view text) {
  PyObject* const decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (decoded == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(decoded);
}

std::string from_python(nb::str text) {
  const nb::object bytes =
      nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (!bytes.is_valid()) throw nb::python_error();
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

namespace {

nb::list words_to_python(const Vocabulary& vocabulary, std::span<const int32_t> ids) {
  nb::list words;
  for (const int32_t id : ids) words.append(to_python(vocabulary.word(id)));
  return words;
}

// A view of one array of the forest.
template <auto Member>
auto array_view(nb::handle self) {
  return view_array(nb::cast<const Forest&>(self).arrays().*Member, self);
}

uint32_t check_edge(const Forest& forest, int64_t edge) {
  if (edge < 0 || edge >= forest.edges()) throw nb::index_error("edge index out of range");
  return static_cast<uint32_t>(edge);
}

std::vector<FeatureEntry> entries_of(const InArray<uint32_t>& features,
                                     const InArray<float>& values) {
  if (features.size() != values.size())
    throw nb::value_error("expected as many values as features");
  std::vector<FeatureEntry> entries;
  for (size_t i = 0; i < features.size(); ++i) {
    entries.push_back({features.data()[i], values.data()[i]});
  }
  return entries;
}

void bind_vocabulary(nb::module_& m) {
  nb::class_<Vocabulary>(m, "Vocabulary",
                         "Words and their numbers. Words can be added but not removed.")
      .def(nb::init<>())
      .def(
          "__init__",
          [](Vocabulary* self, std::shared_ptr<Vocabulary> base) {
            new (self) Vocabulary(std::move(base));
          },
          "base"_a, "Extend another vocabulary: contains the words that it has at this moment.")
      .def(
          "intern", [](Vocabulary& v, nb::str word) { return v.intern(from_python(word)); },
          "word"_a, "Return the number of a word, adding it if it is new.")
      .def(
          "find", [](const Vocabulary& v, nb::str word) { return v.find(from_python(word)); },
          "word"_a, "Return the number of a word, -1 if it is unknown.")
      .def(
          "word", [](const Vocabulary& v, int32_t id) { return to_python(v.word(id)); }, "id"_a,
          "Return the word with a number.")
      .def("__len__", &Vocabulary::size);
}

void bind_builder(nb::module_& m) {
  nb::class_<ForestBuilder>(m, "RawForestBuilder", "Use hopefear.forest.ForestBuilder.")
      .def(nb::init<std::shared_ptr<Vocabulary>, std::shared_ptr<FeatureNames>>(), "vocabulary"_a,
           "names"_a.none())
      .def("feature", &ForestBuilder::feature, "id"_a, "Return the local number of a feature id.")
      .def(
          "row",
          [](ForestBuilder& b, InArray<uint32_t> features, InArray<float> values, bool share) {
            const auto entries = entries_of(features, values);
            return share ? b.share_row(entries) : b.add_row(entries);
          },
          "features"_a.noconvert(), "values"_a.noconvert(), "share"_a,
          "Add a row and return its number; share: reuse an equal row.")
      .def(
          "node",
          [](ForestBuilder& b, uint32_t covered, int32_t begin, int32_t end, int32_t symbol,
             InArray<uint64_t> coverage) {
            return b.add_node({covered, begin, end, symbol, span_of(coverage)});
          },
          "covered"_a, "begin"_a, "end"_a, "symbol"_a, "coverage"_a.noconvert(),
          "Add a node and return its number.")
      .def(
          "edge",
          [](ForestBuilder& b, uint32_t head, const std::vector<uint32_t>& tails,
             const std::vector<int32_t>& target, std::optional<uint32_t> row,
             InArray<uint32_t> features, InArray<float> values, int64_t rule) {
            return b.add_edge(head, tails, target, row.value_or(kNoRow),
                              entries_of(features, values), rule);
          },
          "head"_a, "tails"_a, "target"_a, "row"_a.none(), "features"_a.noconvert(),
          "values"_a.noconvert(), "rule"_a, "Add an edge and return its number in order of adding.")
      .def_prop_ro("nodes", &ForestBuilder::nodes, "Number of nodes added.")
      .def_prop_ro("edges", &ForestBuilder::edges, "Number of edges added.")
      .def(
          "finish",
          [](ForestBuilder& b, std::optional<uint32_t> goal, nb::str id) {
            return b.finish(goal, from_python(id));
          },
          "goal"_a.none(), "id"_a, "Return the forest and empty the builder.")
      .def_prop_ro(
          "edge_order",
          [](const ForestBuilder& b) { return own_array(std::vector(b.edge_order())); },
          nb::rv_policy::automatic,
          "After finish(): per edge of the forest its number in order of adding.")
      .def_prop_ro(
          "node_numbers",
          [](const ForestBuilder& b) { return own_array(std::vector(b.node_numbers())); },
          nb::rv_policy::automatic, "After finish(): per added node its number in the forest.");

  // For data that is in arrays already, e.g. in benchmarks: edges in CSR form, checked.
  m.def(
      "forest_from_arrays",
      [](std::shared_ptr<Vocabulary> vocabulary, std::shared_ptr<FeatureNames> names,
         uint32_t nodes, std::optional<uint32_t> goal, InArray<uint32_t> heads,
         InArray<uint32_t> tail_begin, InArray<uint32_t> tails, InArray<uint32_t> target_begin,
         InArray<int32_t> target, InArray<uint32_t> rows, InArray<uint64_t> feature_ids,
         InArray<uint32_t> row_begin, InArray<uint32_t> row_features, InArray<float> row_values) {
        const size_t edges = heads.size();
        const auto is_csr = [](const InArray<uint32_t>& begin, size_t count, size_t size) {
          const auto s = span_of(begin);
          return s.size() == count + 1 && s.front() == 0 && s.back() == size &&
                 std::is_sorted(s.begin(), s.end());
        };
        if (!is_csr(tail_begin, edges, tails.size()) ||
            !is_csr(target_begin, edges, target.size()) || rows.size() != edges ||
            row_begin.size() == 0 ||
            !is_csr(row_begin, row_begin.size() - 1, row_features.size()) ||
            row_values.size() != row_features.size()) {
          throw nb::value_error("sizes or offsets of the arrays are inconsistent");
        }
        const nb::gil_scoped_release release;
        ForestBuilder builder(std::move(vocabulary), std::move(names));
        for (const FeatureId id : span_of(feature_ids)) builder.feature(id);
        std::vector<FeatureEntry> entries;
        const auto part = [](const auto& array, const InArray<uint32_t>& begin, size_t i) {
          return span_of(array).subspan(begin.data()[i], begin.data()[i + 1] - begin.data()[i]);
        };
        for (size_t r = 0; r + 1 < row_begin.size(); ++r) {
          entries.clear();
          const auto features = part(row_features, row_begin, r);
          const auto values = part(row_values, row_begin, r);
          for (size_t i = 0; i < features.size(); ++i) entries.push_back({features[i], values[i]});
          builder.add_row(entries);
        }
        for (uint32_t n = 0; n < nodes; ++n) builder.add_node();
        for (size_t e = 0; e < edges; ++e) {
          builder.add_edge(heads.data()[e], part(tails, tail_begin, e),
                           part(target, target_begin, e), rows.data()[e]);
        }
        return builder.finish(goal);
      },
      "vocabulary"_a, "names"_a.none(), "nodes"_a, "goal"_a.none(), "heads"_a.noconvert(),
      "tail_begin"_a.noconvert(), "tails"_a.noconvert(), "target_begin"_a.noconvert(),
      "target"_a.noconvert(), "rows"_a.noconvert(), "feature_ids"_a.noconvert(),
      "row_begin"_a.noconvert(), "row_features"_a.noconvert(), "row_values"_a.noconvert(),
      "Build a forest from arrays: edges and rows in CSR form.");
}

void bind_derivation(nb::module_& m) {
  nb::class_<Derivation>(m, "Derivation", "A derivation: one hyperpath of a forest.")
      .def(
          "__init__",
          [](Derivation* self, const Forest& forest, InArray<uint32_t> edges, double score) {
            tree_of(forest, span_of(edges));  // throws if it is not a derivation
            const auto s = span_of(edges);
            new (self) Derivation{forest, {s.begin(), s.end()}, score};
          },
          "forest"_a, "edges"_a.noconvert(), "score"_a,
          "Take edges (uint32) in pre-order and the score, which is not checked.")
      .def_ro("forest", &Derivation::forest, "The forest.")
      .def_ro("score", &Derivation::score, "The sum of its edges' scores.")
      .def_prop_ro("root", &Derivation::root, "The root node.")
      .def_prop_ro(
          "edges",
          [](nb::handle self) {
            const Derivation& d = nb::cast<const Derivation&>(self);
            return view_array(std::span<const uint32_t>(d.edges), self);
          },
          "Edges in pre-order: an edge, then the derivation of its first tail, of its second and "
          "so on. An edge that is used twice occurs twice.")
      .def_prop_ro(
          "tokens", [](const Derivation& d) { return own_array(words_of(d)); },
          nb::rv_policy::automatic, "The target string as word numbers of the forest's vocabulary.")
      .def_prop_ro(
          "words",
          [](const Derivation& d) { return words_to_python(*d.forest.vocabulary(), words_of(d)); },
          nb::sig("def words(self) -> list[str]"), "The target string as a list of words.")
      .def_prop_ro(
          "text",
          [](const Derivation& d) {
            std::string text;
            for (const int32_t word : words_of(d)) {
              if (!text.empty()) text += ' ';
              text += d.forest.vocabulary()->word(word);
            }
            return to_python(text);
          },
          "The target string, words separated by blanks.")
      .def_prop_ro("features", &features_of, "The sum of its edges' features; zeros are left out.")
      .def(
          "children",
          [](const Derivation& d) {
            const DerivationTree tree = tree_of(d.forest, d.edges);
            std::vector<std::vector<uint32_t>> children;
            for (size_t i = 0; i + 1 < tree.begin.size(); ++i) {
              children.emplace_back(tree.children.begin() + tree.begin[i],
                                    tree.children.begin() + tree.begin[i + 1]);
            }
            return children;
          },
          "Return for each position in `edges` the positions of the edges of its tails.")
      .def("__repr__", [](const Derivation& d) {
        std::string text = "Derivation(score=" + std::to_string(d.score) + ", ";
        return text + std::to_string(d.edges.size()) + " edges)";
      });
}

}  // namespace

void bind_forest(nb::module_& m) {
  bind_vocabulary(m);
  using V = ForestView;
  nb::class_<Forest>(m, "Forest",
                     "A forest: a hypergraph of flat arrays. Immutable; see hopefear.forest.")
      .def(nb::init<>(), "A forest without nodes.")
      .def_prop_ro("nodes", &Forest::nodes, "Number of nodes.")
      .def_prop_ro("edges", &Forest::edges, "Number of edges.")
      .def_prop_ro("rows", &Forest::rows, "Number of shared feature rows.")
      .def_prop_ro("goal", &Forest::goal, "The goal node, or None.")
      .def_prop_ro(
          "id", [](const Forest& f) { return to_python(f.id()); }, "Id of the sentence.")
      .def_prop_ro("vocabulary", &Forest::vocabulary, "Vocabulary of target words and symbols.")
      .def_prop_ro("names", &Forest::names, "Feature names, or None.")
      .def_prop_ro("bytes", &Forest::bytes, "Size of the arrays in bytes.")
      .def_prop_ro("node_edges", &array_view<&V::node_edges>,
                   "Node n has the incoming edges node_edges[n] .. node_edges[n + 1].")
      .def_prop_ro("covered", &array_view<&V::covered>,
                   "Number of covered source words of each node.")
      .def_prop_ro("spans", &array_view<&V::spans>,
                   "Source span of each node, flattened (begin, end); -1 for none.")
      .def_prop_ro("symbols", &array_view<&V::symbols>,
                   "Label of each node as a word number; -1 for none.")
      .def_prop_ro("coverage_begin", &array_view<&V::coverage_begin>,
                   "Begin of each node in coverage, and the end.")
      .def_prop_ro("coverage", &array_view<&V::coverage>,
                   "Bits of covered source positions; those of node n are the 64-bit words "
                   "coverage_begin[n] .. coverage_begin[n + 1].")
      .def_prop_ro("heads", &array_view<&V::heads>, "Head of each edge.")
      .def_prop_ro("tail_begin", &array_view<&V::tail_begin>,
                   "Begin of each edge in tails, and the end.")
      .def_prop_ro("tails", &array_view<&V::tails>,
                   "Tails; those of edge e are tail_begin[e] .. tail_begin[e + 1].")
      .def_prop_ro("target_begin", &array_view<&V::target_begin>,
                   "Begin of each edge in target, and the end.")
      .def_prop_ro("target", &array_view<&V::target>,
                   "Target sides: word numbers, and -1-k for the string of tail k.")
      .def_prop_ro("edge_rows", &array_view<&V::rows>,
                   "Shared row of each edge, 0xffffffff for none.")
      .def_prop_ro("rules", &array_view<&V::rules>, "The decoder's rule of each edge, -1 for none.")
      .def_prop_ro("edge_columns", &array_view<&V::edge_columns>,
                   "Local feature number of each column of edge_dense.")
      .def_prop_ro("edge_dense", &array_view<&V::edge_dense>,
                   "Own features that most edges have: edges x edge_columns.")
      .def_prop_ro("own_begin", &array_view<&V::own_begin>,
                   "Begin of each edge in own_features and own_values, and the end.")
      .def_prop_ro("own_features", &array_view<&V::own_features>,
                   "Local feature numbers of the edges' other own features.")
      .def_prop_ro("own_values", &array_view<&V::own_values>, "Values of own_features.")
      .def_prop_ro("row_columns", &array_view<&V::row_columns>,
                   "Local feature number of each column of row_dense.")
      .def_prop_ro("row_dense", &array_view<&V::row_dense>,
                   "Features that most rows have: rows x row_columns.")
      .def_prop_ro("row_begin", &array_view<&V::row_begin>,
                   "Begin of each row in row_features and row_values, and the end.")
      .def_prop_ro("row_features", &array_view<&V::row_features>,
                   "Local feature numbers of the rows' other features.")
      .def_prop_ro("row_values", &array_view<&V::row_values>, "Values of row_features.")
      .def_prop_ro("feature_ids", &array_view<&V::feature_ids>,
                   "The 64-bit id of each local feature number.")
      .def(
          "edge_features",
          [](const Forest& f, int64_t edge, bool shared, bool own) {
            const uint32_t e = check_edge(f, edge);
            const ForestView& a = f.arrays();
            std::vector<FeatureId> ids;
            std::vector<float> values;
            const auto add = [&](uint32_t feature, float value) {
              ids.push_back(a.feature_ids[feature]);
              values.push_back(value);
            };
            if (shared && a.rows[e] != kNoRow) for_row_features(a, a.rows[e], add);
            if (own) for_own_features(a, e, add);
            return SparseVector(ids, values);
          },
          "edge"_a, "shared"_a = true, "own"_a = true,
          "Return the features of an edge: those of its row (shared), its own, or both.")
      .def(
          "row_vector",
          [](const Forest& f, int64_t row) {
            if (row < 0 || row >= f.rows()) throw nb::index_error("row index out of range");
            std::vector<FeatureId> ids;
            std::vector<float> values;
            for_row_features(f.arrays(), static_cast<uint32_t>(row), [&](uint32_t i, float value) {
              ids.push_back(f.arrays().feature_ids[i]);
              values.push_back(value);
            });
            return SparseVector(ids, values);
          },
          "row"_a, "Return the features of a shared row.")
      .def(
          "with_goal",
          [](const Forest& f, std::optional<uint32_t> goal) {
            return f.with_goal(goal.has_value() ? int64_t{*goal} : -1);
          },
          "goal"_a.none(), "Return a forest that shares the arrays but has another goal, or none.")
      .def("__repr__", [](const Forest& f) {
        return "Forest(" + std::to_string(f.nodes()) + " nodes, " + std::to_string(f.edges()) +
               " edges)";
      });
  bind_builder(m);
  bind_derivation(m);
}

}  // namespace hopefear::bind
