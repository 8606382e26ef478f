// Expansion of forests by scorers, those of the engine and those written in Python.
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

// A function of Python: (edge, states of its tails) -> (score, state) or (score, state, features),
// or None to forbid. States are any hashable objects, numbered as they come.
class PythonScorer : public EdgeScorer {
 public:
  explicit PythonScorer(nb::callable function) : function_(std::move(function)) {}
  size_t state_size() const override { return 4; }
  size_t payload_size() const override { return 4; }

  double score(uint32_t edge, std::span<const std::byte* const> tails, std::byte* state) override {
    const nb::gil_scoped_acquire held;
    nb::list parts;
    for (const std::byte* tail : tails) parts.append(states_[read(tail)]);
    const nb::object found = function_(edge, nb::tuple(parts));
    if (found.is_none()) return kNever;
    const nb::tuple answer = nb::cast<nb::tuple>(found);
    if (answer.size() != 2 && answer.size() != 3) {
      throw nb::type_error("a scorer returns (score, state) or (score, state, features) or None");
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
  Expanded made;
  {
    const nb::gil_scoped_release release;
    made = expand(forest, span_of(scores), scorer, {beam, limit, merge_goal, eager});
  }
  return nb::make_tuple(std::move(made.forest), own_array(std::move(made.scores)),
                        own_array(std::move(made.edges)), own_array(std::move(made.nodes)),
                        own_array(std::move(made.best)), made.scored);
}

std::vector<int32_t> numbers_of(const Forest& forest, const std::vector<nb::str>& words) {
  std::vector<int32_t> numbers;
  for (const nb::str& word : words) numbers.push_back(forest.vocabulary()->find(from_python(word)));
  return numbers;
}

// New nodes, and for each of them where in the target its string is (-1 -1 for elsewhere).
using Places = nb::typed<nb::tuple, Parts, OutArray<int32_t>>;

Places split_by_string(const Forest& forest, InArray<double> scores,
                       const std::vector<nb::str>& target, bool others, size_t limit) {
  Expanded made;
  const std::vector<int32_t> words = numbers_of(forest, target);
  std::vector<int32_t> places;
  {
    const nb::gil_scoped_release release;
    StringScorer scorer(forest, words, others);
    made = expand(forest, span_of(scores), scorer,
                  {/*beam=*/0, limit, /*merge_goal=*/false, /*eager=*/false});
    for (size_t n = 0; n < made.nodes.size(); ++n) {
      const auto place = StringScorer::place(made.states.data() + n * made.stride);
      const bool elsewhere = place == StringScorer::kElsewhere;
      places.push_back(elsewhere ? -1 : static_cast<int32_t>(place.begin));
      places.push_back(elsewhere ? -1 : static_cast<int32_t>(place.length));
    }
  }
  const Parts parts = nb::make_tuple(
      std::move(made.forest), own_array(std::move(made.scores)), own_array(std::move(made.edges)),
      own_array(std::move(made.nodes)), own_array(std::move(made.best)), made.scored);
  return nb::make_tuple(parts, own_array(std::move(places)));
}

using Candidates = nb::typed<nb::tuple, std::vector<Derivation>, OutArray<int32_t>>;

// The references' number of a word of the forest.
std::function<uint32_t(int32_t)> numbering(const Forest& forest, const BleuReferences& references,
                                           bool lowercase) {
  if (references.unit() != TextUnit::word) {
    throw nb::value_error("n-grams of characters: only those of words can be searched for");
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
  OracleCandidates found;
  {
    const nb::gil_scoped_release release;
    check_scores(forest, span_of(scores));
    const std::vector<uint32_t> sorted = check_roots(forest, span_of(roots));
    found = oracle_candidates(forest, span_of(scores), sorted, references, sentence, gain, number,
                              {model, signs, beam, count, by_length, source_words});
  }
  return nb::make_tuple(std::move(found.derivations), own_array(std::move(found.rows)));
}

// The edges (of the forest itself) of the best derivation, and its expected gain.
using Chosen = nb::typed<nb::tuple, OutArray<uint32_t>, double>;

Chosen consensus_of(const Forest& forest, InArray<double> scores, InArray<uint32_t> roots,
                    double scale, const std::vector<double>& theta, size_t beam) {
  std::vector<uint32_t> edges;
  double gain = 0;
  {
    const nb::gil_scoped_release release;
    check_scores(forest, span_of(scores));
    const std::vector<uint32_t> sorted = check_roots(forest, span_of(roots));
    const Consensus found = consensus(forest, span_of(scores), sorted, {scale, theta, beam});
    if (const auto best = viterbi(found.split.forest, found.gains, found.roots)) {
      gain = best->score;
      for (const uint32_t e : best->edges) edges.push_back(found.split.edges[e]);
    }
  }
  return nb::make_tuple(own_array(std::move(edges)), gain);
}

}  // namespace

void bind_expand(nb::module_& m) {
  nb::class_<EdgeScorer>(m, "EdgeScorer", "Scores an edge when the states of its tails are known.");
  nb::class_<PythonScorer, EdgeScorer>(m, "PythonScorer", "A scorer written in Python.")
      .def(nb::init<nb::callable>(), "function"_a,
           nb::sig("def __init__(self, function: collections.abc.Callable[..., object]) -> None"));
  nb::class_<LmScorer, EdgeScorer>(m, "LmScorer", "A language model; natural logs.")
      .def(
          "__init__",
          [](LmScorer* self, const Forest& forest, std::shared_ptr<lm::Model> model, double weight,
             FeatureId feature) { new (self) LmScorer(forest, std::move(model), weight, feature); },
          "forest"_a, "model"_a, "weight"_a, "feature"_a);
  m.attr("EXPAND_LIMIT") = kExpandLimit;
  m.def("expand", &expand_forest, "forest"_a, "scores"_a.noconvert(), "scorer"_a, "beam"_a,
        "limit"_a, "merge_goal"_a, "eager"_a);
  m.def("split_by_string", &split_by_string, "forest"_a, "scores"_a.noconvert(), "target"_a,
        "others"_a, "limit"_a);

  nb::class_<NgramGain>(m, "NgramGain",
                        "The gain of a sentence's n-gram matches on top of a background's:\n"
                        "(constant + by_reference * r) * brevity(h, r) * mean precision.")
      .def(
          "__init__",
          [](NgramGain* self, std::vector<double> matches, std::vector<double> totals,
             double length, double reference, double constant, double by_reference) {
            if (matches.size() != totals.size() || matches.empty()) {
              throw nb::value_error("matches and totals by order, from 1");
            }
            for (const auto& values :
                 {matches, totals, {length, reference, constant, by_reference}}) {
              for (const double value : values) {
                if (!(value >= 0 && std::isfinite(value))) {
                  throw nb::value_error("a background has finite numbers from 0");
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
            if (matches.size() != gain.order()) throw nb::value_error("matches of each order");
            return gain(matches.data(), length, reference);
          },
          "matches"_a, "length"_a, "reference"_a);
  nb::class_<GainScorer, EdgeScorer>(m, "GainScorer", "BLEU on top of a background.")
      .def(
          "__init__",
          [](GainScorer* self, const Forest& forest, const BleuReferences& references,
             size_t sentence, const NgramGain& gain, double sign, uint32_t source_words,
             bool by_length, bool lowercase) {
            if (sentence >= references.sentences()) throw nb::index_error("no such sentence");
            new (self) GainScorer(forest, references, sentence, gain, sign,
                                  numbered_target(forest, numbering(forest, references, lowercase)),
                                  source_words, by_length);
          },
          nb::keep_alive<1, 3>(), nb::keep_alive<1, 5>(), "forest"_a, "references"_a, "sentence"_a,
          "gain"_a, "sign"_a, "source_words"_a, "by_length"_a, "lowercase"_a);
  nb::class_<LinearScorer, EdgeScorer>(
      m, "LinearScorer", "Fires the linear n-gram gain of each edge as a feature; scores nothing.")
      .def(
          "__init__",
          [](LinearScorer* self, const Forest& forest, const BleuReferences& references,
             size_t sentence, std::vector<double> xi, FeatureId feature, bool lowercase) {
            if (sentence >= references.sentences()) throw nb::index_error("no such sentence");
            auto words = numbered_target(forest, numbering(forest, references, lowercase));
            new (self) LinearScorer(forest, references, sentence, std::move(xi), std::move(words),
                                    feature);
          },
          nb::keep_alive<1, 3>(), "forest"_a, "references"_a, "sentence"_a, "xi"_a, "feature"_a,
          "lowercase"_a);
  m.def("consensus", &consensus_of, "forest"_a, "scores"_a.noconvert(), "roots"_a.noconvert(),
        "scale"_a, "theta"_a, "beam"_a);
  m.def("oracle_candidates", &candidates, "forest"_a, "scores"_a.noconvert(), "roots"_a.noconvert(),
        "references"_a, "sentence"_a, "gain"_a, "model"_a, "signs"_a, "beam"_a, "candidates"_a,
        "by_length"_a, "source_words"_a, "lowercase"_a);
}

}  // namespace hopefear::bind
