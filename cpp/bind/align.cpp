// Word alignment: texts, models, symmetrisation.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>

#include "align/aligner.hpp"
#include "align/bitext.hpp"
#include "align/model.hpp"
#include "align/symmetrise.hpp"
#include "align/train.hpp"
#include "base/error.hpp"
#include "bind/bind.hpp"

namespace hopefear::bind {
namespace {

using namespace hopefear::align;

// A model and, if it was trained in this process, its training text, which is aligned without
// look-ups.
class AlignModel {
 public:
  explicit AlignModel(Model model) : loaded_(std::move(model)) {}
  AlignModel(std::shared_ptr<const Bitext> bitext, const TrainOptions& options)
      : bitext_(std::move(bitext)), trainer_(std::make_unique<Trainer>(*bitext_, options)) {}
  const Model& model() const { return trainer_ ? trainer_->model() : *loaded_; }
  Trainer& trainer() { return *trainer_; }

  // Calls f(fill, unknown source words, unknown target words).
  template <typename F>
  auto with_emissions(const Bitext& bitext, F&& f) const {
    if (trainer_ && bitext_.get() == &bitext) {
      return f([this](size_t k, Scratch&, PairEmissions& out) { trainer_->fill(k, out); },
               uint64_t{0}, uint64_t{0});
    }
    const Lookup lookup(model(), bitext);
    return f([&](size_t k, Scratch& scratch, PairEmissions& out) { lookup.fill(k, scratch, out); },
             lookup.unknown_source(), lookup.unknown_target());
  }

 private:
  std::shared_ptr<const Bitext> bitext_;
  std::unique_ptr<Trainer> trainer_;
  std::optional<Model> loaded_;
};

const char* name_of(Skip reason) {
  switch (reason) {
    case Skip::empty_source:
      return "empty source";
    case Skip::empty_target:
      return "empty target";
    case Skip::empty_both:
      return "both empty";
    case Skip::long_source:
      return "long source";
    case Skip::long_target:
      return "long target";
  }
  return "";
}

template <typename T>
using Array = nb::ndarray<nb::numpy, T>;

template <typename T>
Array<T> to_array(std::vector<T> values, std::initializer_list<size_t> shape) {
  auto* held = new std::vector<T>(std::move(values));
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T>(held->data(), shape, owner);
}

std::shared_ptr<Bitext> read(nb::object source, const std::string& source_name, nb::object target,
                             const std::string& target_name, size_t max_length, bool refuse_empty,
                             bool refuse_long) {
  PythonSource a(std::move(source), source_name), b(std::move(target), target_name);
  const nb::gil_scoped_release release;
  return std::make_shared<Bitext>(read_bitext(a, b, {max_length, refuse_empty, refuse_long}));
}

Kind kind_of(std::string_view name) {
  return name == "model1" ? Kind::model1 : name == "hmm" ? Kind::hmm : Kind::fertility;
}

std::shared_ptr<AlignModel> train(std::shared_ptr<Bitext> bitext, std::string_view aligner,
                                  int model1, int hmm, double alpha, double similar, double p0,
                                  double uniform, double jump_prior, double jump_width,
                                  double fertility_prior, size_t window, size_t threads,
                                  nb::object on_iteration, nb::object progress) {
  if (bitext->size() == 0)
    throw InputError(
        "no sentence pairs to train on; provide a text with pairs that are not skipped");
  const auto report = [&](const Iteration& it) {
    const nb::gil_scoped_acquire gil;
    on_iteration(it.hmm ? "hmm" : "model1", it.number, it.log_likelihood[0], it.log_likelihood[1]);
  };
  const auto step = progress_callback(std::move(progress));
  const TrainOptions options = {.kind = kind_of(aligner),
                                .model1_iterations = model1,
                                .hmm_iterations = hmm,
                                .alpha = alpha,
                                .similar = similar,
                                .parameters = {p0, uniform},
                                .jump_prior = jump_prior,
                                .jump_width = jump_width,
                                .fertility_prior = fertility_prior,
                                .window = window,
                                .threads = threads};
  const nb::gil_scoped_release release;
  auto model = std::make_shared<AlignModel>(bitext, options);
  model->trainer().run(report, step);
  return model;
}

nb::typed<nb::dict, nb::str, nb::int_> align(const AlignModel& model, const Bitext& bitext,
                                             nb::object out, std::string_view symmetrise,
                                             std::string_view direction, double posterior,
                                             size_t threads, nb::object progress) {
  AlignOptions options{{}, direction == "reverse" ? 1 : 0, posterior, threads};
  if (!symmetrise.empty()) options.symmetrise = symmetrisation(symmetrise);
  const auto step = progress_callback(std::move(progress));
  AlignReport report;
  uint64_t unknown_source = 0, unknown_target = 0;
  {
    PythonSink sink(std::move(out));
    const nb::gil_scoped_release release;
    model.with_emissions(bitext, [&](const FillPair& fill, uint64_t source, uint64_t target) {
      unknown_source = source;
      unknown_target = target;
      report = align_text(model.model(), bitext, fill, options, sink, step);
    });
  }
  nb::dict result;
  result["pairs"] = report.pairs;
  result["links"] = report.links;
  result["source_words"] = report.source_words;
  result["target_words"] = report.target_words;
  result["unaligned_source"] = report.unaligned_source;
  result["unaligned_target"] = report.unaligned_target;
  result["unknown_source"] = unknown_source;
  result["unknown_target"] = unknown_target;
  return result;
}

// Log-likelihood and posteriors[i][j] of each direction; the last row or column is the empty word.
std::tuple<double, double, Array<float>, Array<float>> pair_posteriors(const AlignModel& model,
                                                                       const Bitext& bitext,
                                                                       size_t k) {
  if (k >= bitext.size()) throw nb::index_error("sentence pair index out of range");
  double log_likelihood[2];
  std::vector<float> tables[2];
  PairEmissions pair;
  model.with_emissions(bitext, [&](const FillPair& fill, uint64_t, uint64_t) {
    Scratch scratch;
    fill(k, scratch, pair);
    for (const int d : {0, 1}) log_likelihood[d] = model.model().infer(d, scratch, pair, nullptr);
  });
  const size_t I = pair.I, J = pair.J;
  for (const int d : {0, 1}) {
    const Emissions posteriors = pair.direction(d);
    const size_t stride = posteriors.stride();
    tables[d].resize(d == 0 ? (I + 1) * J : I * (J + 1));
    for (size_t i = 0; i < I; ++i) {
      for (size_t j = 0; j < J; ++j) {
        tables[d][d == 0 ? i * J + j : i * (J + 1) + j] =
            posteriors.word[d == 0 ? j * stride + i : i * stride + j];
      }
      if (d == 1) tables[d][i * (J + 1) + J] = posteriors.empty[i];
    }
    for (size_t j = 0; d == 0 && j < J; ++j) tables[d][I * J + j] = posteriors.empty[j];
  }
  return {log_likelihood[0], log_likelihood[1], to_array(std::move(tables[0]), {I + 1, J}),
          to_array(std::move(tables[1]), {I, J + 1})};
}

nb::bytes to_bytes(std::string_view text) { return nb::bytes(text.data(), text.size()); }

std::vector<std::tuple<nb::bytes, float, float>> entries(const AlignModel& handle, nb::bytes word) {
  const Model& model = handle.model();
  std::vector<std::tuple<nb::bytes, float, float>> result;
  const uint32_t s = model.source.find({word.c_str(), word.size()});
  if (s == WordNumbers::kNone) return result;
  for (uint64_t n = model.rows[s]; n < model.rows[s + 1]; ++n) {
    if (model.counts[n] <= 0) continue;
    const uint32_t t = model.columns[n];
    const auto weight = [&](int d) {
      return static_cast<float>(model.probability(d, s, t, model.counts[n]));
    };
    result.emplace_back(to_bytes(model.target.word(t)), weight(0), weight(1));
  }
  return result;
}

float empty_weight(const AlignModel& handle, nb::bytes word, bool reverse) {
  const Model& model = handle.model();
  const uint32_t id = (reverse ? model.source : model.target).find({word.c_str(), word.size()});
  if (id == WordNumbers::kNone) return 0;
  return static_cast<float>(model.empty_probability(reverse ? 1U : 0U, id));
}

Points to_points(const std::vector<std::pair<uint32_t, uint32_t>>& pairs) {
  Points points;
  for (const auto& [i, j] : pairs) points.push_back({i, j});
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

}  // namespace

void bind_align(nb::module_& m) {
  nb::class_<Bitext>(m, "AlignBitext", "A parallel text as word numbers.")
      .def_static("read", read, "source"_a, "source_name"_a, "target"_a, "target_name"_a,
                  "max_length"_a, "refuse_empty"_a, "refuse_long"_a, "Read two files line by line.")
      .def_prop_ro("pairs", &Bitext::size)
      .def_ro("lines", &Bitext::total_lines)
      .def_prop_ro("source_words", [](const Bitext& b) { return b.source_words.size(); })
      .def_prop_ro("target_words", [](const Bitext& b) { return b.target_words.size(); })
      .def_prop_ro("skipped", [](const Bitext& b) {
        std::vector<std::pair<uint64_t, std::string>> result;
        for (const SkippedLine& s : b.skipped) result.emplace_back(s.line, name_of(s.reason));
        return result;
      });
  nb::class_<AlignModel>(
      m, "AlignModel",
      "A word alignment model: expected links, jumps and fertilities of both directions.")
      .def_static("train", train, "bitext"_a, "aligner"_a, "model1_iterations"_a,
                  "hmm_iterations"_a, "alpha"_a, "similar"_a, "p0"_a, "uniform"_a, "jump_prior"_a,
                  "jump_width"_a, "fertility_prior"_a, "window"_a, "threads"_a, "on_iteration"_a,
                  "progress"_a.none())
      .def_static(
          "load",
          [](const FilePath& path) {
            const nb::gil_scoped_release release;
            return std::make_shared<AlignModel>(Model::load(path.name));
          },
          "path"_a, "Read a model from a file.")
      .def(
          "save",
          [](const AlignModel& model, const FilePath& path) {
            const nb::gil_scoped_release release;
            model.model().save(path.name);
          },
          "path"_a, "Write the model to a new file.")
      .def("align", align, "bitext"_a, "out"_a, "symmetrise"_a, "direction"_a, "posterior"_a,
           "threads"_a, "progress"_a.none(),
           "Write the alignments of a text to `out`; return counts as a dict.")
      .def("posteriors", pair_posteriors, "bitext"_a, "pair"_a,
           "Return the two log-likelihoods and posteriors (forward with a last row, reverse with a "
           "last column for the empty word).")
      .def_prop_ro("source_types", [](const AlignModel& a) { return a.model().source.size(); })
      .def_prop_ro("target_types", [](const AlignModel& a) { return a.model().target.size(); })
      .def("row", entries, "source_word"_a,
           "Return the linked words of a source word: (target word, t(target|source), "
           "t(source|target)).")
      .def("empty", empty_weight, "word"_a, "reverse"_a, "Return t(word | empty word).")
      .def(
          "jumps",
          [](const AlignModel& a, bool reverse) {
            const std::vector<double>& w = a.model().jumps[reverse ? 1 : 0].weights();
            return to_array(w, {w.size()});
          },
          "reverse"_a, "Return the weights of jumps: left tail, -window .. window, right tail.")
      .def(
          "starts",
          [](const AlignModel& a, bool reverse) {
            const std::vector<double>& w = a.model().jumps[reverse ? 1 : 0].start();
            return to_array(w, {w.size()});
          },
          "reverse"_a, "Return the weights of the first position: 0 .. window, tail.");
  m.def(
      "align_symmetrise",
      [](const std::vector<std::pair<uint32_t, uint32_t>>& forward,
         const std::vector<std::pair<uint32_t, uint32_t>>& reverse, std::string_view method) {
        std::vector<std::pair<uint32_t, uint32_t>> result;
        for (const Point& p :
             symmetrise(to_points(forward), to_points(reverse), symmetrisation(method))) {
          result.emplace_back(p.source, p.target);
        }
        return result;
      },
      "forward"_a, "reverse"_a, "method"_a,
      "Return the symmetrised alignment of two lists of (source, target) points.");
  m.def(
      "align_symmetrise_files",
      [](nb::object forward, const std::string& forward_name, nb::object reverse,
         const std::string& reverse_name, std::string_view method, nb::object out) {
        PythonSource a(std::move(forward), forward_name), b(std::move(reverse), reverse_name);
        PythonSink sink(std::move(out));
        const nb::gil_scoped_release release;
        return symmetrise_files(a, b, symmetrisation(method), sink);
      },
      "forward"_a, "forward_name"_a, "reverse"_a, "reverse_name"_a, "method"_a, "out"_a,
      "Symmetrise two alignment files line by line; return the number of lines.");
}

}  // namespace hopefear::bind
