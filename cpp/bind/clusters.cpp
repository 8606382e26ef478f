// The engine call of hopefear.text.clusters.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <vector>

#include "bind/bind.hpp"
#include "text/brown.hpp"

namespace hopefear::bind {
namespace {

nb::typed<nb::dict, nb::str, nb::any> brown_clusters(nb::typed<nb::list, nb::any> files,
                                                     const std::vector<std::string>& names,
                                                     size_t clusters, uint64_t min_count,
                                                     nb::object progress) {
  std::vector<std::unique_ptr<PythonSource>> owned;
  std::vector<ByteSource*> sources;
  for (size_t i = 0; i < names.size(); ++i) {
    owned.push_back(std::make_unique<PythonSource>(nb::borrow(files[i]), names[i]));
    sources.push_back(owned.back().get());
  }
  const auto report_progress = progress_callback(std::move(progress));
  text::BrownResult clustering;
  {
    const nb::gil_scoped_release released;
    clustering = text::brown_clusters(sources, {clusters, min_count}, report_progress);
  }
  nb::list words;
  for (const text::ClusteredWord& word : clustering.words)
    words.append(
        nb::make_tuple(nb::bytes(word.word.data(), word.word.size()), word.path, word.count));
  nb::typed<nb::dict, nb::str, nb::any> result;
  result["words"] = words;
  result["sentences"] = clustering.sentences;
  result["tokens"] = clustering.tokens;
  result["clusters"] = clustering.clusters;
  result["information"] = clustering.information;
  return result;
}

}  // namespace

void bind_clusters(nb::module_& m) {
  m.def("brown_clusters", brown_clusters, "files"_a, "names"_a, nb::kw_only(), "clusters"_a,
        "min_count"_a, "progress"_a.none(),
        "Cluster the words of binary text files; return a dict of words (bytes, path, count), "
        "sentences, tokens, clusters and information (nats per pair).");
}

}  // namespace hopefear::bind
