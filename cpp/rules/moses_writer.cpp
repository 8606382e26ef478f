#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "rules/extract.hpp"
#include "rules/moses_table.hpp"

namespace hopefear::rules {

MosesWriter::MosesWriter(ByteSink& phrases, ByteSink* reordering, size_t translation_columns,
                         Spelling source_word, Spelling target_word, Spelling label)
    : phrases_(phrases),
      reordering_(reordering == nullptr ? nullptr : std::make_unique<BufferedSink>(*reordering)),
      translation_(translation_columns),
      source_word_(std::move(source_word)),
      target_word_(std::move(target_word)),
      label_(std::move(label)) {}

void MosesWriter::add_words(std::span<const Symbol> words, const Spelling& spelling,
                            const RuleView& rule) {
  const bool is_source = words.data() == rule.source.data();
  for (const Symbol symbol : words) {
    if (is_nonterminal(symbol)) {
      // The label is that of the source side's, on both sides and for both languages.
      Symbol label = symbol;
      for (uint32_t i = 0, n = 0; !is_source && i < rule.source.size(); ++i) {
        if (!is_nonterminal(rule.source[i]) || n++ != nonterminal(symbol)) continue;
        label = rule.source[i];
        break;
      }
      for (int twice = 0; twice < 2; ++twice) {
        line_ += '[';
        line_ += label_(nonterminal(label));
        line_ += ']';
      }
      line_ += ' ';
      continue;
    }
    const std::string_view word = spelling(symbol);
    for (const char c : word) {
      if (c == '|') {
        line_ += "&#124;";
      } else if (c == '[' && rule.label != kNoLabel) {  // Moses takes brackets for nonterminals
        line_ += "&#91;";
      } else if (c == ']' && rule.label != kNoLabel) {
        line_ += "&#93;";
      } else {
        line_ += c;
      }
    }
    line_ += ' ';
  }
  if (rule.label != kNoLabel) {
    line_ += '[';
    line_ += label_(rule.label);
    line_ += "] ";
  }
  line_ += "||| ";
}

void MosesWriter::add_number(double value) {
  if (value > std::numeric_limits<float>::max()) {  // Moses would read infinity
    throw InputError("a score of a rule is " + std::to_string(std::log(value)) +
                     ": Moses's tables have exponentials, and that of more than 88 does not fit; "
                     "export the grammar in cdec's format");
  }
  char digits[32];
  // The same as printf's %.6g, but three times as fast; this is most of the time of an export.
  const auto end =
      std::to_chars(digits, digits + sizeof(digits), value, std::chars_format::general, 6);
  line_.append(digits, end.ptr);
}

void MosesWriter::add(const RuleView& rule) {
  line_.clear();
  add_words(rule.source, source_word_, rule);
  add_words(rule.target, target_word_, rule);
  const size_t key = line_.size();
  for (const float score : rule.scores.first(translation_)) {
    add_number(std::exp(static_cast<double>(score)));
    line_ += ' ';
  }
  line_ += "|||";
  const auto add_link = [&](size_t source, size_t target) {
    line_ += ' ';
    line_ += std::to_string(source);
    line_ += '-';
    line_ += std::to_string(target);
  };
  for (const Link& link : rule.links) add_link(link.source, link.target);
  for (uint32_t i = 0, n = 0; rule.label != kNoLabel && i < rule.source.size(); ++i) {
    if (!is_nonterminal(rule.source[i])) continue;
    const auto place = std::ranges::find(rule.target, kNonterminal | n++);
    add_link(i, static_cast<size_t>(place - rule.target.begin()));
  }
  line_ += " |||";
  for (const float count : {rule.counts.target, rule.counts.source, rule.counts.joint}) {
    line_ += ' ';
    if (count == std::floor(count) && count < 1e18F) {
      line_ += std::to_string(static_cast<uint64_t>(count));
    } else {
      add_number(count);
    }
  }
  line_ += " ||| |||\n";
  phrases_.write(line_);
  if (reordering_ == nullptr) return;
  line_.resize(key);
  for (const float score : rule.scores.subspan(translation_)) {
    add_number(std::exp(static_cast<double>(score)));
    line_ += ' ';
  }
  line_.back() = '\n';
  reordering_->write(line_);
}

void MosesWriter::flush() {
  phrases_.flush();
  if (reordering_ != nullptr) reordering_->flush();
}

void write_moses(const RuleTable& table, ByteSink& phrases, ByteSink* reordering,
                 bool all_columns) {
  const bool hiero = !all_columns && table.columns().names == hiero_columns().names;
  MosesWriter writer(
      phrases, reordering, hiero ? phrase_columns(0).size() : table.columns().translation(),
      [&](Word word) { return table.source_words().word(word); },
      [&](Word word) { return table.target_words().word(word); },
      [&](Word word) { return table.labels().word(word); });
  uint64_t done = 0;
  table.walk([&](uint32_t, const RuleView& rule) {
    writer.add(rule);
    if (++done % 4096 == 0) poll_interrupt();
  });
  writer.flush();
}

}  // namespace hopefear::rules
