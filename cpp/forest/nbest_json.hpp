// N-best lists as JSON lines, one entry per line, as forests: one node, one edge per entry.
//
//   {"id": 0, "text": "a house", "features": {"lm": -3.1}, "score": 0.8,
//    "scores": {"comet": 0.8}, "utilities": [1.0, 0.4]}
//
// "features", "score", "scores" and "utilities" are optional; other keys are ignored. The reader
// accepts what JSON allows except repeated keys and numbers beyond single precision.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/io.hpp"
#include "forest/builder.hpp"

namespace hopefear {

struct JsonNbestList {
  Forest forest;                           // its id is that of the list
  std::vector<double> scores;              // "score" per entry; NaN if it has none
  std::vector<std::string> names;          // of "scores", in order of appearance
  std::vector<std::vector<double>> named;  // per name the score of each entry, NaN if absent
  std::vector<std::vector<double>>
      utilities;  // per entry, empty if it has none; or no vector at all
};

// Reads one list at a time: consecutive entries with the same id. Memory: one list.
class JsonNbestReader {
 public:
  JsonNbestReader(ByteSource& source, std::shared_ptr<Vocabulary> vocabulary,
                  std::shared_ptr<FeatureNames> names);
  // False at the end, or at a line that is not an entry: then wrong_line() is not empty, and the
  // caller says what is wrong with it. InputError for a name or text that cannot be stored.
  bool next(JsonNbestList& list);
  const std::string& wrong_line() const { return wrong_; }
  std::string place() const { return lines_.place(); }

 private:
  struct Named {
    std::string name;
    double value;
  };
  struct Entry {
    std::string id, text;
    std::vector<Named> features, scores;
    size_t feature_count = 0, score_count = 0;  // the strings behind them are reused
    double score = 0;
    std::vector<double> utilities;
  };
  bool parse(std::string_view line, Entry& entry);
  void add(const Entry& entry, JsonNbestList& list);

  LineReader lines_;
  std::shared_ptr<Vocabulary> vocabulary_;
  std::shared_ptr<FeatureNames> names_;
  ForestBuilder builder_;
  Entry pending_, entry_;  // the first entry of the next list; scratch
  bool has_pending_ = false;
  std::string wrong_;
  std::vector<Named> known_;  // names of the features of the last entry …
  std::vector<FeatureId> known_ids_;
  std::vector<FeatureEntry> row_;
  std::vector<uint32_t> order_;
  std::vector<int32_t> words_;
};

}  // namespace hopefear
