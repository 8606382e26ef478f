// hopefear.text.clusters' engine call.
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
  const auto told = progress_callback(std::move(progress));
  text::BrownResult found;
  {
    const nb::gil_scoped_release released;
    found = text::brown_clusters(sources, {clusters, min_count}, told);
  }
  nb::list words;
  for (const text::ClusteredWord& word : found.words)
    words.append(
        nb::make_tuple(nb::bytes(word.word.data(), word.word.size()), word.path, word.count));
  nb::typed<nb::dict, nb::str, nb::any> result;
  result["words"] = words;
  result["sentences"] = found.sentences;
  result["tokens"] = found.tokens;
  result["clusters"] = found.clusters;
  result["information"] = found.information;
  return result;
}

}  // namespace

void bind_clusters(nb::module_& m) {
  m.def("brown_clusters", brown_clusters, "files"_a, "names"_a, nb::kw_only(), "clusters"_a,
        "min_count"_a, "progress"_a.none(),
        "Clusters of the words of binary files: words (bytes, path, count), sentences, tokens, "
        "clusters, information.");
}

}  // namespace hopefear::bind
