// Expansion of forests by scorers, written in C++ or in Python.
#include "forest/expand.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "bind/forest_arrays.hpp"
#include "forest/consensus.hpp"
#include "forest/gain_scorer.hpp"
#include "forest/linear_scorer.hpp"
#include "forest/lm_scorer.hpp"
#include "forest/oracle.hpp"
#include "forest/string_scorer.hpp"
#include "forest/words.hpp"

namespace hopefear::bind {
namespace {

// A scorer written in Python as a function (edge, states of its tails) -> (score, state) or (score,
// state, features), or None to forbid the edge. States are hashable objects, numbered in order of
// appearance.
class PythonScorer : public EdgeScorer {
 public:
  explicit PythonScorer(nb::callable function) : function_(std::move(function)) {}
  size_t state_size() const override { return 4; }
  size_t payload_size() const override { return 4; }

  double score(uint32_t edge, std::span<const std::byte* const> tails, std::byte* state) override {
    const nb::gil_scoped_acquire held;
    nb::list parts;
    for (const std::byte* tail : tails) parts.append(states_[read(tail)]);
    const nb::object result = function_(edge, nb::tuple(parts));
    if (result.is_none()) return kNever;
    const nb::tuple answer = nb::cast<nb::tuple>(result);
    if (answer.size() != 2 && answer.size() != 3) {
      throw nb::type_error("a scorer must return (score, state), (score, state, features) or None");
    }
    uint32_t number = static_cast<uint32_t>(states_.size());
    if (numbers_.contains(answer[1])) {
      number = nb::cast<uint32_t>(numbers_[answer[1]]);
    } else {
      numbers_[answer[1]] = number;
      states_.append(answer[1]);
    }
    write(state, number);
    write(state + 4, static_cast<uint32_t>(features_.size()));
    features_.append(answer.size() == 3 ? nb::object(answer[2]) : nb::none());
    return nb::cast<double>(answer[0]);
  }

  void record(uint32_t, std::span<const std::byte* const>, const std::byte* payload,
              FeatureNumbers& features, std::vector<FeatureEntry>& own) override {
    const nb::gil_scoped_acquire held;
    const nb::object fired = features_[read(payload)];
    if (fired.is_none()) return;
    for (const auto& [id, value] : nb::cast<nb::dict>(fired)) {
      own.push_back({features.feature(nb::cast<FeatureId>(id)), nb::cast<float>(value)});
    }
  }

 private:
  static uint32_t read(const std::byte* at) {
    uint32_t number = 0;
    std::memcpy(&number, at, 4);
    return number;
  }
  static void write(std::byte* at, uint32_t number) { std::memcpy(at, &number, 4); }
  nb::callable function_;
  nb::list states_, features_;
  nb::dict numbers_;
};

using Parts = nb::typed<nb::tuple, Forest, OutArray<double>, OutArray<uint32_t>, OutArray<uint32_t>,
                        OutArray<double>, size_t>;

Parts expand_forest(const Forest& forest, InArray<double> scores, EdgeScorer& scorer, size_t beam,
                    size_t limit, bool merge_goal, bool eager) {
  Expanded expanded;
  {
    const nb::gil_scoped_release release;
    expanded = expand(forest, span_of(scores), scorer, {beam, limit, merge_goal, eager});
  }
  return nb::make_tuple(std::move(expanded.forest), own_array(std::move(expanded.scores)),
                        own_array(std::move(expanded.edges)), own_array(std::move(expanded.nodes)),
                        own_array(std::move(expanded.best)), expanded.scored);
}

std::vector<int32_t> numbers_of(const Forest& forest, const std::vector<nb::str>& words) {
  std::vector<int32_t> numbers;
  for (const nb::str& word : words) numbers.push_back(forest.vocabulary()->find(from_python(word)));
  return numbers;
}

// The expanded forest, and for each node the (begin, length) of its string in the target (-1 -1 if
// it does not occur).
using Places = nb::typed<nb::tuple, Parts, OutArray<int32_t>>;

Places split_by_string(const Forest& forest, InArray<double> scores,
                       const std::vector<nb::str>& target, bool others, size_t limit) {
  Expanded expanded;
  const std::vector<int32_t> words = numbers_of(forest, target);
  std::vector<int32_t> places;
  {
    const nb::gil_scoped_release release;
    StringScorer scorer(forest, words, others);
    expanded = expand(forest, span_of(scores), scorer,
                      {/*beam=*/0, limit, /*merge_goal=*/false, /*eager=*/false});
    for (size_t n = 0; n < expanded.nodes.size(); ++n) {
      const auto place = StringScorer::place(expanded.states.data() + n * expanded.stride);
      const bool elsewhere = place == StringScorer::kElsewhere;
      places.push_back(elsewhere ? -1 : static_cast<int32_t>(place.begin));
      places.push_back(elsewhere ? -1 : static_cast<int32_t>(place.length));
    }
  }
  const Parts parts =
      nb::make_tuple(std::move(expanded.forest), own_array(std::move(expanded.scores)),
                     own_array(std::move(expanded.edges)), own_array(std::move(expanded.nodes)),
                     own_array(std::move(expanded.best)), expanded.scored);
  return nb::make_tuple(parts, own_array(std::move(places)));
}

using Candidates = nb::typed<nb::tuple, std::vector<Derivation>, OutArray<int32_t>>;

// Returns a function from a word number of the forest to that of the references.
std::function<uint32_t(int32_t)> numbering(const Forest& forest, const BleuReferences& references,
                                           bool lowercase) {
  if (references.unit() != TextUnit::word) {
    throw nb::value_error("a search for n-grams needs references of words, not of characters");
  }
  return [&forest, &references, lowercase](int32_t word) -> uint32_t {
    const std::string_view text = forest.vocabulary()->word(word);
    if (!lowercase) return references.find(text);
    const nb::gil_scoped_acquire held;
    return references.find(from_python(nb::str(to_python(text).attr("lower")())));
  };
}

Candidates candidates(const Forest& forest, InArray<double> scores, InArray<uint32_t> roots,
                      const BleuReferences& references, size_t sentence, const NgramGain& gain,
                      double model, const std::vector<double>& signs, size_t beam, size_t count,
                      bool by_length, uint32_t source_words, bool lowercase) {
  const auto number = numbering(forest, references, lowercase);
  OracleCandidates result;
  {
    const nb::gil_scoped_release release;
    check_scores(forest, span_of(scores));
    const std::vector<uint32_t> sorted = check_roots(forest, span_of(roots));
    result = oracle_candidates(forest, span_of(scores), sorted, references, sentence, gain, number,
                               {model, signs, beam, count, by_length, source_words});
  }
  return nb::make_tuple(std::move(result.derivations), own_array(std::move(result.rows)));
}

// The edges of the best derivation (in the original forest) and its expected gain.
using Chosen = nb::typed<nb::tuple, OutArray<uint32_t>, double>;

Chosen consensus_of(const Forest& forest, InArray<double> scores, InArray<uint32_t> roots,
                    double scale, const std::vector<double>& theta, size_t beam) {
  std::vector<uint32_t> edges;
  double gain = 0;
  {
    const nb::gil_scoped_release release;
    check_scores(forest, span_of(scores));
    const std::vector<uint32_t> sorted = check_roots(forest, span_of(roots));
    const Consensus result = consensus(forest, span_of(scores), sorted, {scale, theta, beam});
    if (const auto best = viterbi(result.split.forest, result.gains, result.roots)) {
      gain = best->score;
      for (const uint32_t e : best->edges) edges.push_back(result.split.edges[e]);
    }
  }
  return nb::make_tuple(own_array(std::move(edges)), gain);
}

}  // namespace

void bind_expand(nb::module_& m) {
  nb::class_<EdgeScorer>(m, "EdgeScorer", "Scores an edge given the states of its tails.");
  nb::class_<PythonScorer, EdgeScorer>(
      m, "PythonScorer", "A scorer written in Python: a function of (edge, states of its tails).")
      .def(nb::init<nb::callable>(), "function"_a,
           nb::sig("def __init__(self, function: collections.abc.Callable[..., object]) -> None"));
  nb::class_<LmScorer, EdgeScorer>(m, "LmScorer",
                                   "Scores edges by a language model, in natural logs.")
      .def(
          "__init__",
          [](LmScorer* self, const Forest& forest, std::shared_ptr<lm::Model> model, double weight,
             FeatureId feature) { new (self) LmScorer(forest, std::move(model), weight, feature); },
          "forest"_a, "model"_a, "weight"_a, "feature"_a);
  m.attr("EXPAND_LIMIT") = kExpandLimit;
  m.def("expand", &expand_forest, "forest"_a, "scores"_a.noconvert(), "scorer"_a, "beam"_a,
        "limit"_a, "merge_goal"_a, "eager"_a,
        "Split the nodes of a forest by the states of a scorer; return the new forest, edge "
        "scores, old edge of each edge, old node of each node, best score of each node, and number "
        "of scored edges.");
  m.def("split_by_string", &split_by_string, "forest"_a, "scores"_a.noconvert(), "target"_a,
        "others"_a, "limit"_a,
        "Split nodes by the first occurrence of their string in the target; return the result of "
        "expand() and (begin, length) per node, flattened.");

  nb::class_<NgramGain>(m, "NgramGain",
                        "The gain of a sentence's n-gram matches added to those of a background:\n"
                        "(constant + by_reference * r) * brevity(h, r) * mean precision.")
      .def(
          "__init__",
          [](NgramGain* self, std::vector<double> matches, std::vector<double> totals,
             double length, double reference, double constant, double by_reference) {
            if (matches.size() != totals.size() || matches.empty()) {
              throw nb::value_error("expected one match count and one total per order");
            }
            for (const auto& values :
                 {matches, totals, {length, reference, constant, by_reference}}) {
              for (const double value : values) {
                if (!(value >= 0 && std::isfinite(value))) {
                  throw nb::value_error("numbers of a background must be finite and at least 0");
                }
              }
            }
            new (self) NgramGain{std::move(matches), std::move(totals), length,
                                 reference,          constant,          by_reference};
          },
          "matches"_a, "totals"_a, "length"_a = 0.0, "reference"_a = 0.0, "constant"_a = 1.0,
          "by_reference"_a = 0.0)
      .def(
          "__call__",
          [](const NgramGain& gain, const std::vector<double>& matches, double length,
             double reference) {
            if (matches.size() != gain.order())
              throw nb::value_error("expected one match count per order");
            return gain(matches.data(), length, reference);
          },
          "matches"_a, "length"_a, "reference"_a,
          "Return the gain for match counts by order, hypothesis length and reference length.");
  nb::class_<GainScorer, EdgeScorer>(m, "GainScorer", "Scores edges by BLEU with a background.")
      .def(
          "__init__",
          [](GainScorer* self, const Forest& forest, const BleuReferences& references,
             size_t sentence, const NgramGain& gain, double sign, uint32_t source_words,
             bool by_length, bool lowercase) {
            if (sentence >= references.sentences())
              throw nb::index_error("sentence index out of range");
            new (self) GainScorer(forest, references, sentence, gain, sign,
                                  numbered_target(forest, numbering(forest, references, lowercase)),
                                  source_words, by_length);
          },
          nb::keep_alive<1, 3>(), nb::keep_alive<1, 5>(), "forest"_a, "references"_a, "sentence"_a,
          "gain"_a, "sign"_a, "source_words"_a, "by_length"_a, "lowercase"_a);
  nb::class_<LinearScorer, EdgeScorer>(
      m, "LinearScorer",
      "Fires the linear n-gram gain of each edge as a feature; adds nothing to scores.")
      .def(
          "__init__",
          [](LinearScorer* self, const Forest& forest, const BleuReferences& references,
             size_t sentence, std::vector<double> xi, FeatureId feature, bool lowercase) {
            if (sentence >= references.sentences())
              throw nb::index_error("sentence index out of range");
            auto words = numbered_target(forest, numbering(forest, references, lowercase));
            new (self) LinearScorer(forest, references, sentence, std::move(xi), std::move(words),
                                    feature);
          },
          nb::keep_alive<1, 3>(), "forest"_a, "references"_a, "sentence"_a, "xi"_a, "feature"_a,
          "lowercase"_a);
  m.def("consensus", &consensus_of, "forest"_a, "scores"_a.noconvert(), "roots"_a.noconvert(),
        "scale"_a, "theta"_a, "beam"_a,
        "Return the edges of the derivation with the largest expected linear gain, and that gain.");
  m.def("oracle_candidates", &candidates, "forest"_a, "scores"_a.noconvert(), "roots"_a.noconvert(),
        "references"_a, "sentence"_a, "gain"_a, "model"_a, "signs"_a, "beam"_a, "candidates"_a,
        "by_length"_a, "source_words"_a, "lowercase"_a,
        "Return hope, fear and model-best candidates, and their exact statistics (flattened).");
}

}  // namespace hopefear::bind
