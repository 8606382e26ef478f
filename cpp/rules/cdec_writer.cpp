#include <charconv>

#include "base/interrupt.hpp"
#include "rules/cdec_grammar.hpp"

namespace hopefear::rules {

CdecWriter::CdecWriter(ByteSink& sink, Columns columns, Names names, bool target_labels)
    : sink_(sink),
      columns_(std::move(columns.names)),
      names_(std::move(names)),
      target_labels_(target_labels) {
  columns_.resize(columns_.size() - columns.reordering);
}

// A word that would be read as a nonterminal or as the end of a field is written with entities, as
// Moses's tokenizer writes it.
void CdecWriter::add_word(std::string_view word) {
  const bool bracket = word.size() > 2 && word.front() == '[' && word.back() == ']';
  for (const char c : word) {
    if (c == '|') {
      line_ += "&#124;";
    } else if (bracket && c == '[') {
      line_ += "&#91;";
    } else if (bracket && c == ']') {
      line_ += "&#93;";
    } else {
      line_ += c;
    }
  }
}

void CdecWriter::add_feature(std::string_view name, float value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);  // reads back the same
  line_ += ' ';
  line_ += name;
  line_ += '=';
  const std::string_view number(digits, static_cast<size_t>(end.ptr - digits));
  // cdec reads an exponent only after a point: 1e-05 would end its reading of the grammar.
  const size_t exponent = number.find('e');
  if (exponent == std::string_view::npos || number.find('.') != std::string_view::npos) {
    line_ += number;
  } else {
    line_ += number.substr(0, exponent);
    line_ += ".0";
    line_ += number.substr(exponent);
  }
}

void CdecWriter::add(const RuleView& rule) {
  line_.clear();
  line_ += '[';
  line_ += rule.label == kNoLabel ? std::string_view("X") : names_.label(rule.label);
  line_ += "] |||";
  int nonterminals = 0;
  source_labels_.clear();
  for (const Symbol symbol : rule.source) {
    line_ += ' ';
    if (!is_nonterminal(symbol)) {
      add_word(names_.source(symbol));
      continue;
    }
    source_labels_.push_back(nonterminal(symbol));
    line_ += '[';
    line_ += names_.label(nonterminal(symbol));
    line_ += ',';
    line_ += std::to_string(++nonterminals);
    line_ += ']';
  }
  line_ += " |||";
  for (const Symbol symbol : rule.target) {
    line_ += ' ';
    if (!is_nonterminal(symbol)) {
      add_word(names_.target(symbol));
      continue;
    }
    line_ += '[';
    if (target_labels_) {
      line_ += names_.label(source_labels_.at(nonterminal(symbol)));
      line_ += ',';
    }
    line_ += std::to_string(nonterminal(symbol) + 1);
    line_ += ']';
  }
  line_ += " |||";
  for (size_t i = 0; i < columns_.size(); ++i) add_feature(columns_[i], rule.scores[i]);
  for (const SparseScore& score : rule.sparse) {
    add_feature(names_.sparse(score.feature), score.value);
  }
  if (!rule.links.empty()) line_ += " |||";  // Joshua needs no empty field at the end
  for (const Link& link : rule.links) {
    line_ += ' ';
    line_ += std::to_string(link.source);
    line_ += '-';
    line_ += std::to_string(link.target);
  }
  line_ += '\n';
  sink_.write(line_);
}

void write_cdec(const RuleTable& table, ByteSink& sink, bool target_labels) {
  CdecWriter writer(sink, table.columns(),
                    {[&](Word word) { return table.source_words().word(word); },
                     [&](Word word) { return table.target_words().word(word); },
                     [&](Word word) { return table.labels().word(word); },
                     [&](Word word) { return table.sparse_names().word(word); }},
                    target_labels);
  uint64_t done = 0;
  table.walk([&](uint32_t, const RuleView& rule) {
    writer.add(rule);
    if (++done % 4096 == 0) poll_interrupt();
  });
  writer.flush();
}

}  // namespace hopefear::rules
