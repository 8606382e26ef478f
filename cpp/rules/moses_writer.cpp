#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "rules/moses_table.hpp"

namespace hopefear::rules {

MosesWriter::MosesWriter(ByteSink& phrases, ByteSink* reordering, size_t translation_columns,
                         std::function<std::string_view(Word)> source_word,
                         std::function<std::string_view(Word)> target_word)
    : phrases_(phrases),
      reordering_(reordering == nullptr ? nullptr : std::make_unique<BufferedSink>(*reordering)),
      translation_(translation_columns),
      source_word_(std::move(source_word)),
      target_word_(std::move(target_word)) {}

void MosesWriter::add_words(std::span<const Symbol> words,
                            const std::function<std::string_view(Word)>& spelling) {
  for (const Symbol symbol : words) {
    if (is_nonterminal(symbol)) {
      throw InputError(
          "the table holds rules with nonterminals, which a Moses phrase table "
          "cannot; export it as cdec grammar");
    }
    for (const char c : spelling(symbol)) {
      if (c == '|') {
        line_ += "&#124;";
      } else {
        line_ += c;
      }
    }
    line_ += ' ';
  }
  line_ += "||| ";
}

void MosesWriter::add_number(double value) {
  char digits[32];
  // The same as printf's %.6g, but three times as fast; this is most of the time of an export.
  const auto end =
      std::to_chars(digits, digits + sizeof(digits), value, std::chars_format::general, 6);
  line_.append(digits, end.ptr);
}

void MosesWriter::add(const RuleView& rule) {
  line_.clear();
  add_words(rule.source, source_word_);
  add_words(rule.target, target_word_);
  const size_t key = line_.size();
  for (const float score : rule.scores.first(translation_)) {
    add_number(std::exp(static_cast<double>(score)));
    line_ += ' ';
  }
  line_ += "|||";
  for (const Link& link : rule.links) {
    line_ += ' ';
    line_ += std::to_string(link.source);
    line_ += '-';
    line_ += std::to_string(link.target);
  }
  line_ += " |||";
  for (const float count : {rule.counts.target, rule.counts.source, rule.counts.joint}) {
    line_ += ' ';
    if (count == std::floor(count)) {
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

void write_moses(const RuleTable& table, ByteSink& phrases, ByteSink* reordering) {
  MosesWriter writer(
      phrases, reordering, table.columns().translation(),
      [&](Word word) { return table.source_words().word(word); },
      [&](Word word) { return table.target_words().word(word); });
  uint64_t done = 0;
  table.walk([&](uint32_t, const RuleView& rule) {
    writer.add(rule);
    if (++done % 4096 == 0) poll_interrupt();
  });
  writer.flush();
}

}  // namespace hopefear::rules
