// A model as ARPA text. The tables have the words of an n-gram as a context number and a last word,
// so the words of every context are recovered first: 8 bytes per context.
#include <charconv>
#include <string>
#include <vector>

#include "base/interrupt.hpp"
#include "lm/model.hpp"

namespace hopefear::lm {
namespace {

void append_number(std::string& line, float value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value == 0 ? 0 : value);
  line.append(digits, end.ptr);
}

}  // namespace

void Model::write_arpa(ByteSink& sink) const {
  BufferedSink out(sink);
  const auto length_of = [](uint32_t context) { return context >> State::kLengthShift; };
  const auto damaged = [] {
    return InputError(
        "the language model is damaged: an n-gram continues a context that does not "
        "exist; compile it again");
  };
  // [length][number of a context]: its prefix << 32 | its last word
  std::vector<std::vector<uint64_t>> words_of(order());
  for (unsigned n = 1; n < order(); ++n) words_of[n].resize(header_.contexts[n]);
  const auto note_context = [&](unsigned n, uint32_t next, uint64_t words) {
    if (length_of(next) != n || n >= order()) return;
    const uint32_t number = next & State::kIndexMask;
    if (number >= words_of[n].size()) throw damaged();
    words_of[n][number] = words;
  };
  std::string line;
  const auto add_line = [&](float weight, unsigned n, uint32_t next) {
    std::string text;
    append_number(text, layout::log10_of(weight));
    out.write(text);
    out.put('\t');
    out.write(line);
    if (n < order() && length_of(next) == n) {
      text = "\t";
      append_number(text, context_of(n, next).backoff);
      out.write(text);
    }
    out.put('\n');
  };
  const bool unknown = header_.unknown_added == 0;
  out.write("\\data\\\nngram 1=" + std::to_string(header_.words - !unknown) + "\n");
  for (unsigned n = 2; n <= order(); ++n) {
    const uint64_t count = header_.ngrams[n - 1] + header_.filled[n - 1];
    out.write("ngram " + std::to_string(n) + "=" + std::to_string(count) + "\n");
  }
  out.write("\n\\1-grams:\n");
  for (uint64_t id = 0; id < header_.words; ++id) {
    const layout::Unigram& unigram = unigrams_[id];
    note_context(1, unigram.next, id);
    if (id == kUnknown && !unknown) continue;
    line = word(static_cast<WordId>(id));
    add_line(unigram.weight, 1, unigram.next);
  }
  std::vector<WordId> reversed;
  for (unsigned n = 2; n <= order(); ++n) {
    out.write("\n\\" + std::to_string(n) + "-grams:\n");
    const TableView<layout::Ngram>& table = tables_[n - 1];
    for (uint64_t i = 0; i < table.homes + table.reach; ++i) {
      if (i % 65536 == 0) poll_interrupt();
      const layout::Ngram& ngram = table.slots[i];
      if (ngram.key == 0) continue;
      uint64_t words = layout::ngram_of_key(ngram.key);
      note_context(n, ngram.next, words);
      reversed.clear();
      for (unsigned length = n - 1;; --length) {
        reversed.push_back(static_cast<WordId>(words));
        if (length == 0) break;
        const uint32_t number = static_cast<uint32_t>(words >> 32) & State::kIndexMask;
        if (number >= words_of[length].size()) throw damaged();
        words = words_of[length][number];
      }
      line.clear();
      for (size_t k = reversed.size(); k-- > 0;) {
        if (!line.empty()) line += ' ';
        line += word(reversed[k]);
      }
      add_line(ngram.weight, n, ngram.next);
    }
  }
  out.write("\n\\end\\\n");
  out.flush();
}

}  // namespace hopefear::lm
