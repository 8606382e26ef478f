// The linear n-gram score as a scorer of edges.
#include <nanobind/stl/vector.h>

#include "bind/bind.hpp"
#include "forest/linear_scorer.hpp"
#include "forest/words.hpp"

namespace hopefear::bind {

void bind_linear(nb::module_& m) {
  nb::class_<LinearScorer, EdgeScorer>(
      m, "LinearScorer", "Fires the linear n-gram gain of each edge as a feature; scores nothing.")
      .def(
          "__init__",
          [](LinearScorer* self, const Forest& forest, const BleuReferences& references,
             size_t sentence, std::vector<double> xi, FeatureId feature) {
            if (references.unit() != TextUnit::word) {
              throw nb::value_error("n-grams of characters: only those of words can be split by");
            }
            if (sentence >= references.sentences()) throw nb::index_error("no such sentence");
            auto words = numbered_target(forest, [&](int32_t word) {
              return references.find(forest.vocabulary()->word(word));
            });
            new (self) LinearScorer(forest, references, sentence, std::move(xi), std::move(words),
                                    feature);
          },
          "forest"_a, "references"_a, "sentence"_a, "xi"_a, "feature"_a,
          // The references stay as long as the scorer.
          nb::keep_alive<1, 3>());
}

}  // namespace hopefear::bind
