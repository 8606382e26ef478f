// N-best lists of Moses, cdec and Joshua as forests: one node, one edge per entry.
//
//   id ||| words ||| A= 1 2 B= 3 sparse= 1 ||| score ||| …        Moses
//   id ||| words ||| name=value name=value ||| score              cdec, Joshua
//
// Both notations of features may be mixed. A label with one value names the feature; the values of
// a label with several are the features A_1, A_2 … (the names that Moses itself uses). Fields after
// the score are ignored.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/io.hpp"
#include "forest/builder.hpp"

namespace hopefear {

struct NbestList {
  Forest forest;               // its id is that of the list
  std::vector<double> scores;  // per entry as in the file; NaN if it has none
};

// Reads one list at a time: consecutive entries with the same id. Memory: one list.
class NbestReader {
 public:
  NbestReader(ByteSource& source, std::shared_ptr<Vocabulary> vocabulary,
              std::shared_ptr<FeatureNames> names);
  bool next(NbestList& list);  // false at the end; InputError with file and line

 private:
  struct Label {
    std::string name;
    uint32_t values = 0;  // number of values, the same in every line; 0 before the first
    std::vector<FeatureId> ids;
    std::vector<double> line_values;  // in this line
  };
  void add_entry(std::string_view line);
  void add_features(std::string_view text);
  double number(std::string_view text, const char* what) const;
  Label& label(std::string_view name);
  InputError error(const std::string& why) const;

  LineReader lines_;
  std::shared_ptr<Vocabulary> vocabulary_;
  std::shared_ptr<FeatureNames> names_;
  ForestBuilder builder_;
  std::unordered_map<std::string, Label> labels_;
  std::vector<Label*> touched_;
  std::string text_;  // scratch for look-ups
  std::vector<FeatureEntry> entries_;
  std::vector<int32_t> words_;
  std::vector<double> scores_;
  std::string id_, pending_;  // id of the current list; first line of the next one
  bool has_pending_ = false;
};

}  // namespace hopefear
