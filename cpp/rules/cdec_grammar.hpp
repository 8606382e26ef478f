// Reads text grammars of cdec and Joshua into rule tables, and writes rules in that format.
//
//   [X] ||| source ||| target ||| name=value … ||| 0-0 1-2
//
// Nonterminals are [X,1] (source: also [X]; target: also [1]). Features keep their names and units;
// the i-th number without a name in a rule, from 0, is PhraseModel_i. The last two fields
// may be absent; empty lines and lines that begin with '#' are skipped.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/io.hpp"
#include "rules/rule.hpp"
#include "rules/rule_table.hpp"

namespace hopefear::rules {

struct CdecImport {
  uint64_t memory = uint64_t{1} << 30;
  size_t threads = 1;
  std::string scratch_directory;
};

struct CdecImportReport {
  uint64_t rules = 0, source_sides = 0;
  uint64_t columns = 0, sparse_features = 0;
};

// Rules keep the order of their lines within a source side; a repeated rule is kept twice. A
// feature becomes a column if there are few features or many rules have it, else a sparse score; a
// rule without a column's feature has 0 there, which scores the same. Counts are unknown, hence 0.
// `path` is a new file.
CdecImportReport read_cdec(const std::vector<ByteSource*>& grammars, const CdecImport& options,
                           const std::string& path, std::string_view info,
                           const std::function<void(uint64_t)>& progress);
// The same in memory, for the grammar of one sentence. One thread, no files.
RuleTable read_cdec(const std::vector<ByteSource*>& grammars, std::string_view info);

// Writes a line per rule, without the alignment field if it has none; words are given by table
// number. Scores of 0 are written too, so that a reader knows the columns; reordering scores are
// not, since they would always fire. A rule without a label gets [X]. Nonterminals of the target
// side are [1], as cdec writes them, or with `target_labels` [X,1], which Joshua needs. Call
// flush() at the end.
class CdecWriter : public RuleSink {
 public:
  struct Names {
    std::function<std::string_view(Word)> source, target, label, sparse;
  };
  CdecWriter(ByteSink& sink, Columns columns, Names names, bool target_labels = false);
  void add(const RuleView& rule) override;
  void flush() { sink_.flush(); }

 private:
  void add_feature(std::string_view name, float value);
  void add_word(std::string_view word);
  BufferedSink sink_;
  std::vector<std::string> columns_;
  Names names_;
  const bool target_labels_;
  std::vector<Word> source_labels_;  // of the current rule's nonterminals
  std::string line_;
};

void write_cdec(const RuleTable& table, ByteSink& sink, bool target_labels = false);

}  // namespace hopefear::rules
