#include "align/aligner.hpp"

#include <algorithm>

#include "base/threads.hpp"

namespace hopefear::align {
namespace {

// The links of one direction, from the posteriors in `pair`.
Points direction_points(int d, const PairEmissions& pair, double threshold) {
  Points points;
  const Emissions posteriors = pair.direction(d);
  const auto add = [&](size_t state, size_t observation) {
    const auto i = static_cast<uint32_t>(state), j = static_cast<uint32_t>(observation);
    points.push_back(d == 0 ? Point{i, j} : Point{j, i});
  };
  for (size_t j = 0; j < posteriors.observations; ++j) {
    const float* words = posteriors.word + j * posteriors.stride();
    if (threshold > 0) {
      for (size_t i = 0; i < posteriors.states; ++i) {
        if (words[i] >= static_cast<float>(threshold)) add(i, j);
      }
    } else {
      const float* best = std::max_element(words, words + posteriors.states);
      if (*best >= posteriors.empty[j]) add(static_cast<size_t>(best - words), j);
    }
  }
  std::sort(points.begin(), points.end());
  return points;
}

}  // namespace

AlignReport align_text(const Model& model, const Bitext& bitext, const FillPair& fill,
                       const AlignOptions& options, ByteSink& out,
                       const std::function<void(uint64_t)>& progress) {
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
        fill(k, scratch, pair);
        const auto align = [&](int d) {
          model.infer(d, scratch, pair, nullptr);
          return direction_points(d, pair, options.posterior);
        };
        const Points points = options.symmetrise
                                  ? symmetrise(align(0), align(1), *options.symmetrise)
                                  : align(options.direction);
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
