// Inference over forests. The functions take one score per edge and, if they consider derivations
// of certain nodes, these roots in any order; hopefear.forest supplies the defaults.
#include "forest/inference.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind/forest_arrays.hpp"
#include "forest/envelope.hpp"
#include "forest/kbest.hpp"
#include "forest/lines.hpp"
#include "forest/sample.hpp"
#include "forest/select.hpp"

namespace hopefear::bind {
namespace {

using ScoreArray = InArray<double>;
using RootArray = InArray<uint32_t>;

// Checks scores and roots from Python; owns the sorted roots.
struct Query {
  Query(const Forest& f, const ScoreArray& s, const RootArray& r)
      : scores(span_of(s)), roots(check_roots(f, span_of(r))) {
    check_scores(f, scores);
  }
  Scores scores;
  std::vector<uint32_t> roots;
};

void check_gains(const Forest& forest, const ScoreArray& gains) {
  if (gains.size() != forest.edges()) throw nb::value_error("expected one gain per edge");
  for (const double gain : span_of(gains)) {
    if (!std::isfinite(gain)) throw nb::value_error("gains must be finite");
  }
}

OutArray<bool> mask_array(EdgeMask&& mask) {
  auto* held = new EdgeMask(std::move(mask));
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<EdgeMask*>(p); });
  return OutArray<bool>(reinterpret_cast<bool*>(held->data()), {held->size()}, owner);
}

OutArray<double> column(const Envelope& envelope, double Envelope::Segment::* member) {
  std::vector<double> values;
  for (const Envelope::Segment& s : envelope.segments()) values.push_back(s.*member);
  return own_array(std::move(values));
}

void bind_best(nb::module_& m) {
  m.def(
      "edge_scores",
      [](const Forest& forest, const Weights& weights) {
        std::vector<double> scores;
        {
          const nb::gil_scoped_release release;
          scores = edge_scores(forest, weights);
        }
        return own_array(std::move(scores));
      },
      "forest"_a, "weights"_a, "Return the score of every edge under the weights.");
  m.def(
      "viterbi",
      [](const Forest& forest, ScoreArray scores, RootArray roots) {
        const nb::gil_scoped_release release;
        const Query q(forest, scores, roots);
        return viterbi(forest, q.scores, q.roots);
      },
      "forest"_a, "scores"_a.noconvert(), "roots"_a.noconvert(),
      "Return the best derivation of the roots, or None.");
  m.def(
      "viterbi_weights",
      [](const Forest& forest, const Weights& weights, RootArray roots) {
        const nb::gil_scoped_release release;
        const std::vector<uint32_t> sorted = check_roots(forest, span_of(roots));
        return viterbi(forest, edge_scores(forest, weights), sorted);
      },
      "forest"_a, "weights"_a, "roots"_a.noconvert(),
      "Return the best derivation of the roots under the weights, or None.");
  m.def(
      "best_scores",
      [](const Forest& forest, ScoreArray scores) {
        BestEdges best;
        {
          const nb::gil_scoped_release release;
          check_scores(forest, span_of(scores));
          best = best_edges(forest, span_of(scores));
        }
        return own_array(std::move(best.scores));
      },
      "forest"_a, "scores"_a.noconvert(),
      "Return per node the score of its best derivation, -inf for none.");
  m.def(
      "viterbi_each",
      [](const Forest& forest, ScoreArray scores, RootArray nodes) {
        const nb::gil_scoped_release release;
        const Query q(forest, scores,
                      nodes);  // checks the nodes; the result has the order of `nodes`
        return viterbi_each(forest, q.scores, span_of(nodes));
      },
      "forest"_a, "scores"_a.noconvert(), "nodes"_a.noconvert(),
      "Return the best derivation of each of the nodes, None for a node without one.");
  m.def(
      "max_marginals",
      [](const Forest& forest, ScoreArray scores, RootArray roots) {
        std::vector<double> result;
        {
          const nb::gil_scoped_release release;
          const Query q(forest, scores, roots);
          result = max_marginals(forest, q.scores, q.roots);
        }
        return own_array(std::move(result));
      },
      "forest"_a, "scores"_a.noconvert(), "roots"_a.noconvert(),
      "Return per edge the score of the best derivation that uses it.");
  m.def(
      "kbest",
      [](const Forest& forest, ScoreArray scores, RootArray roots, size_t k, bool distinct,
         uint64_t limit) {
        const nb::gil_scoped_release release;
        const Query q(forest, scores, roots);
        KBestResult result = kbest(forest, q.scores, q.roots, k, distinct, limit);
        return std::pair(std::move(result.derivations), result.complete);
      },
      "forest"_a, "scores"_a.noconvert(), "roots"_a.noconvert(), "k"_a, "distinct"_a, "limit"_a,
      "Return the k best derivations, and whether the list is complete (not cut short by limit).");
}

void bind_sums(nb::module_& m) {
  m.def(
      "inside",
      [](const Forest& forest, ScoreArray scores) {
        std::vector<double> result;
        {
          const nb::gil_scoped_release release;
          check_scores(forest, span_of(scores));
          result = inside(forest, span_of(scores));
        }
        return own_array(std::move(result));
      },
      "forest"_a, "scores"_a.noconvert(),
      "Return per node the log of the sum of exp(score) over its derivations.");
  m.def(
      "outside",
      [](const Forest& forest, ScoreArray scores, ScoreArray inside_values, RootArray roots) {
        if (inside_values.size() != forest.nodes())
          throw nb::value_error("expected one inside value per node");
        std::vector<double> result;
        {
          const nb::gil_scoped_release release;
          const Query q(forest, scores, roots);
          result = outside(forest, q.scores, span_of(inside_values), q.roots);
        }
        return own_array(std::move(result));
      },
      "forest"_a, "scores"_a.noconvert(), "inside"_a.noconvert(), "roots"_a.noconvert(),
      "Return per node the log of dZ / d exp(inside).");
  m.def(
      "log_partition",
      [](const Forest& forest, ScoreArray scores, RootArray roots) {
        const nb::gil_scoped_release release;
        const Query q(forest, scores, roots);
        return log_partition(inside(forest, q.scores), q.roots);
      },
      "forest"_a, "scores"_a.noconvert(), "roots"_a.noconvert(),
      "Return log Z, the log of the sum of exp(score) over the derivations of the roots.");
  m.def(
      "posterior",
      [](const Forest& forest, ScoreArray scores, RootArray roots) {
        Posterior p;
        double h = 0;
        {
          const nb::gil_scoped_release release;
          const Query q(forest, scores, roots);
          p = posterior(forest, q.scores, q.roots);
          h = entropy(forest, p);
        }
        return nb::make_tuple(p.log_z, h, own_array(std::move(p.nodes)),
                              own_array(std::move(p.edges)));
      },
      "forest"_a, "scores"_a.noconvert(), "roots"_a.noconvert(),
      nb::sig("def posterior(forest: Forest, scores: numpy.typing.NDArray[numpy.float64], roots: "
              "numpy.typing.NDArray[numpy.uint32]) -> tuple[float, float, "
              "numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]"),
      "Return log Z and entropy (in nats), and the expected number of uses of each node and edge.");
  m.def(
      "feature_sum",
      [](const Forest& forest, ScoreArray factors) {
        check_gains(forest, factors);
        const nb::gil_scoped_release release;
        return feature_sum(forest, span_of(factors));
      },
      "forest"_a, "factors"_a.noconvert(), "Return the sum over edges of factor * features.");
  m.def(
      "expectation",
      [](const Forest& forest, ScoreArray scores, ScoreArray gains, RootArray roots) {
        check_gains(forest, gains);
        Expectation result;
        {
          const nb::gil_scoped_release release;
          const Query q(forest, scores, roots);
          result =
              expectation(forest, posterior(forest, q.scores, q.roots), span_of(gains), q.roots);
        }
        return nb::make_tuple(result.value, own_array(std::move(result.edges)));
      },
      "forest"_a, "scores"_a.noconvert(), "gains"_a.noconvert(), "roots"_a.noconvert(),
      nb::sig("def expectation(forest: Forest, scores: numpy.typing.NDArray[numpy.float64], gains: "
              "numpy.typing.NDArray[numpy.float64], roots: numpy.typing.NDArray[numpy.uint32]) -> "
              "tuple[float, numpy.typing.NDArray[numpy.float64]]"),
      "Return the expected gain and its derivatives with respect to the edge scores.");
  m.def(
      "sample",
      [](const Forest& forest, ScoreArray scores, RootArray roots, size_t count, uint64_t seed) {
        const nb::gil_scoped_release release;
        const Query q(forest, scores, roots);
        return sample(forest, q.scores, q.roots, count, seed);
      },
      "forest"_a, "scores"_a.noconvert(), "roots"_a.noconvert(), "count"_a, "seed"_a,
      "Return derivations drawn with p(d) = exp(score) / Z.");
}

}  // namespace

void bind_inference(nb::module_& m) {
  bind_best(m);
  bind_sums(m);
  nb::class_<Envelope>(
      m, "Envelope",
      "The upper envelope: the best derivation for each x under the weights w + x * direction.")
      .def(
          "__init__",
          [](Envelope* self, const Forest& forest, ScoreArray scores, ScoreArray slopes,
             RootArray roots) {
            check_gains(forest, slopes);
            const nb::gil_scoped_release release;
            const Query q(forest, scores, roots);
            new (self) Envelope(forest, q.scores, span_of(slopes), q.roots);
          },
          "forest"_a, "scores"_a.noconvert(), "slopes"_a.noconvert(), "roots"_a.noconvert())
      .def("__len__", [](const Envelope& e) { return e.segments().size(); })
      .def_prop_ro(
          "starts", [](const Envelope& e) { return column(e, &Envelope::Segment::start); },
          nb::rv_policy::automatic, "Begin of each segment in x; the first is -infinity.")
      .def_prop_ro(
          "slopes", [](const Envelope& e) { return column(e, &Envelope::Segment::slope); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "intercepts", [](const Envelope& e) { return column(e, &Envelope::Segment::intercept); },
          nb::rv_policy::automatic)
      .def("derivation", &Envelope::derivation, "segment"_a, "x"_a = 0.0,
           "Return the derivation of a segment, with its score at x.");
  m.def(
      "best_on_lines",
      [](const Forest& forest, ScoreArray scores, const std::vector<const Weights*>& directions,
         double reach, RootArray roots) {
        const nb::gil_scoped_release release;
        const Query q(forest, scores, roots);
        return best_on_lines(forest, q.scores, directions, reach, q.roots);
      },
      "forest"_a, "scores"_a.noconvert(), "directions"_a, "reach"_a, "roots"_a.noconvert(),
      "Return the derivations that are best under scores + x * direction for some |x| <= reach and "
      "direction.");
  m.def(
      "useful_edges",
      [](const Forest& forest, RootArray roots) {
        EdgeMask mask;
        {
          const nb::gil_scoped_release release;
          mask = useful_edges(forest, check_roots(forest, span_of(roots)));
        }
        return mask_array(std::move(mask));
      },
      "forest"_a, "roots"_a.noconvert(),
      "Return a mask of the edges that some derivation of the roots uses.");
  m.def(
      "prune_mask",
      [](const Forest& forest, ScoreArray scores, RootArray roots, double value, bool margin) {
        EdgeMask mask;
        {
          const nb::gil_scoped_release release;
          const Query q(forest, scores, roots);
          mask = margin ? margin_mask(forest, q.scores, q.roots, value)
                        : posterior_mask(forest, q.scores, q.roots, value);
        }
        return mask_array(std::move(mask));
      },
      "forest"_a, "scores"_a.noconvert(), "roots"_a.noconvert(), "value"_a, "margin"_a,
      "Return a mask of the edges to keep: by score margin to the best derivation, else by "
      "expected number of uses.");
  m.def(
      "select_edges",
      [](const Forest& forest, InArray<bool> mask, bool keep_nodes) {
        const nb::gil_scoped_release release;
        return select(forest, {reinterpret_cast<const uint8_t*>(mask.data()), mask.size()},
                      keep_nodes);
      },
      "forest"_a, "mask"_a.noconvert(), "keep_nodes"_a,
      "Return the forest of the edges in the mask; keep_nodes: also keep nodes without edges.");
}

}  // namespace hopefear::bind
