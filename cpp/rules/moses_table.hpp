// Reads Moses's text tables into rule tables, and writes rules in that format.
//
//   phrase table      source ||| target ||| scores ||| alignment ||| c(e) c(f) c(f,e) ||| |||
//   reordering table  source ||| target ||| scores, or source ||| scores
//   rule table        a phrase table of hierarchical rules: nonterminals are [X][X], each side ends
//                     with the label of the left-hand side, the alignment links nonterminals, too
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/io.hpp"
#include "rules/rule.hpp"
#include "rules/rule_table.hpp"

namespace hopefear::rules {

// Writes probabilities with six digits, as Moses does, and '|' in a word as &#124;, as Moses's
// tokenizer does. Words are given by table number.
class MosesWriter : public RuleSink {
 public:
  using Spelling = std::function<std::string_view(Word)>;
  // `reordering` may be null; `label` is called for hierarchical rules only. Only the first
  // `translation_columns` scores are written; they are log probabilities. Call flush() at the end.
  MosesWriter(ByteSink& phrases, ByteSink* reordering, size_t translation_columns,
              Spelling source_word, Spelling target_word, Spelling label = {});
  void add(const RuleView& rule) override;
  void flush();

 private:
  void add_words(std::span<const Symbol> words, const Spelling& spelling, const RuleView& rule);
  void add_number(double value);
  BufferedSink phrases_;
  std::unique_ptr<BufferedSink> reordering_;
  size_t translation_;
  Spelling source_word_, target_word_, label_;
  std::string line_;
};

// Writes all rules of a table; of hierarchical tables from RuleExtraction only the four
// probabilities, unless `all_columns`. InputError for a score whose exponential is infinite.
void write_moses(const RuleTable& table, ByteSink& phrases, ByteSink* reordering,
                 bool all_columns = false);

struct MosesImport {
  std::vector<std::string> columns;  // names of the phrase table's scores; empty: the defaults
  std::vector<std::string> reordering_columns;  // the same for the reordering table
  bool reordering_by_source = false;            // its lines have no target phrase
  uint32_t limit = 0;                           // options per source side; 0: all
  uint32_t longest_source = 255;                // pairs with more source words are dropped
  uint64_t memory = uint64_t{1} << 30;
  size_t threads = 1;
  std::string scratch_directory;
};

struct MosesImportReport {
  uint64_t rules = 0, source_sides = 0, over_limit = 0;
  uint64_t without_reordering = 0;  // pairs missing in the reordering table: scores 0, as in Moses
  uint64_t too_long = 0;            // pairs with more than `longest_source` source words
};

// Reads a phrase table and, unless null, a reordering table, with lines in any order. Scores are
// probabilities; their logs are floored at -100, as Moses does. `path` is a new file.
MosesImportReport read_moses(ByteSource& phrases, ByteSource* reordering,
                             const MosesImport& options, const std::string& path,
                             std::string_view info, const std::function<void(uint64_t)>& progress);

}  // namespace hopefear::rules
