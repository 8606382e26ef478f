// N-best lists of Moses, cdec and Joshua as forests: one node, one edge per entry.
//
//   id ||| words ||| A= 1 2 B= 3 sparse= 1 ||| score ||| …        Moses
//   id ||| words ||| name=value name=value ||| score              cdec, Joshua
//
// The two ways to write features may be mixed. A label with one value names the feature, the values
// of a label with several are A_1, A_2 … (the names that Moses itself uses where it needs them).
// What follows the score is not read.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/io.hpp"
#include "forest/builder.hpp"

namespace hopefear {

struct NbestList {
  Forest forest;               // its id is the list's
  std::vector<double> scores;  // as the file gives them, per entry; NaN where it does not
};

// Entries with the same id that stand together make one list. Streaming: memory for one list.
class NbestReader {
 public:
  NbestReader(ByteSource& source, std::shared_ptr<Vocabulary> vocabulary,
              std::shared_ptr<FeatureNames> names);
  bool next(NbestList& list);  // false at the end; InputError with file and line

 private:
  struct Label {
    std::string name;
    uint32_t values = 0;  // in every line that has it; 0 before the first
    std::vector<FeatureId> ids;
    std::vector<double> found;  // in this line
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
  std::string id_, pending_;  // the first line of the next list, and its id
  bool has_pending_ = false;
};

}  // namespace hopefear
