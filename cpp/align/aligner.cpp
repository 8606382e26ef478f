#include "align/aligner.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/threads.hpp"

namespace hopefear::align {
namespace {

Points direction_points(const Model& model, int d, const PairEmissions& pair, double threshold,
                        Scratch& scratch) {
  Points points;
  const Emissions emissions = pair.direction(d);
  const auto add = [&](size_t state, size_t observation) {
    const auto i = static_cast<uint32_t>(state), j = static_cast<uint32_t>(observation);
    points.push_back(d == 0 ? Point{i, j} : Point{j, i});
  };
  if (threshold > 0) {
    std::vector<float> words, empty;
    posteriors(model, d, pair, scratch, words, empty);
    for (size_t j = 0; j < emissions.observations; ++j) {
      for (size_t i = 0; i < emissions.states; ++i) {
        if (words[j * emissions.stride() + i] >= static_cast<float>(threshold)) add(i, j);
      }
    }
  } else {
    std::vector<int32_t> best;
    if (model.hmm) {
      hmm_best(model.jumps[static_cast<size_t>(d)], model.parameters, emissions, scratch, best);
    } else {
      model1_best(model.parameters.p0, emissions, best);
    }
    for (size_t j = 0; j < best.size(); ++j) {
      if (best[j] >= 0) add(static_cast<size_t>(best[j]), j);
    }
  }
  std::sort(points.begin(), points.end());
  return points;
}

}  // namespace

double posteriors(const Model& model, int direction, const PairEmissions& pair, Scratch& scratch,
                  std::vector<float>& words, std::vector<float>& empty) {
  const Emissions emissions = pair.direction(direction);
  words.resize(emissions.observations * emissions.stride());
  empty.resize(emissions.observations);
  if (!model.hmm)
    return model1_posteriors(model.parameters.p0, emissions, words.data(), empty.data());
  return hmm_posteriors(model.jumps[static_cast<size_t>(direction)], model.parameters, emissions,
                        scratch, words.data(), empty.data(), nullptr);
}

AlignReport align_text(const Model& model, const Bitext& bitext, const FillPair& fill,
                       const AlignOptions& options, ByteSink& out,
                       const std::function<void(uint64_t)>& progress) {
  for (const int d : {0, 1}) {
    if ((options.symmetrise || options.direction == d) && !model.trained[static_cast<size_t>(d)]) {
      throw InputError(std::string("the model has no ") + (d == 0 ? "forward" : "reverse") +
                       " direction; train it with both directions");
    }
  }
  AlignReport report;
  BufferedSink sink(out);
  constexpr size_t kBlock = 1024, kGroup = 16;
  std::vector<std::string> lines(kBlock);
  std::vector<AlignReport> parts(kBlock / kGroup);
  uint64_t line = 0;
  const auto blank_until = [&](uint64_t end) {
    for (; line < end; ++line) sink.put('\n');
  };
  for (size_t first = 0; first < bitext.size(); first += kBlock) {
    const size_t last = std::min(bitext.size(), first + kBlock);
    parallel_for((last - first + kGroup - 1) / kGroup, options.threads, [&](size_t group) {
      PairEmissions pair;
      Scratch scratch;
      AlignReport& part = parts[group];
      part = {};
      std::vector<uint8_t> has_source, has_target;
      const size_t end = std::min(last, first + (group + 1) * kGroup);
      for (size_t k = first + group * kGroup; k < end; ++k) {
        fill(k, pair);
        Points points;
        if (options.symmetrise) {
          points = symmetrise(direction_points(model, 0, pair, options.posterior, scratch),
                              direction_points(model, 1, pair, options.posterior, scratch),
                              *options.symmetrise);
        } else {
          points = direction_points(model, options.direction, pair, options.posterior, scratch);
        }
        std::string& text = lines[k - first];
        text.clear();
        write_points(points, text);
        text.push_back('\n');
        has_source.assign(pair.I, 0);
        has_target.assign(pair.J, 0);
        for (const Point& p : points) has_source[p.source] = has_target[p.target] = 1;
        part.links += points.size();
        part.source_words += pair.I;
        part.target_words += pair.J;
        part.unaligned_source +=
            static_cast<uint64_t>(std::count(has_source.begin(), has_source.end(), 0));
        part.unaligned_target +=
            static_cast<uint64_t>(std::count(has_target.begin(), has_target.end(), 0));
      }
    });
    for (size_t group = 0; group * kGroup < last - first; ++group) {
      const AlignReport& part = parts[group];
      report.links += part.links;
      report.source_words += part.source_words;
      report.target_words += part.target_words;
      report.unaligned_source += part.unaligned_source;
      report.unaligned_target += part.unaligned_target;
    }
    for (size_t k = first; k < last; ++k) {
      blank_until(bitext.lines[k] - 1);
      sink.write(lines[k - first]);
      ++line;
    }
    progress(last);
  }
  blank_until(bitext.total_lines);
  sink.flush();
  report.pairs = bitext.size();
  return report;
}

}  // namespace hopefear::align
