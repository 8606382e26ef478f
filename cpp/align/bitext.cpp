#include "align/bitext.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace hopefear::align {

namespace {

// Numbers the words that occur by falling frequency.
void rank(WordNumbers& vocabulary, std::vector<uint32_t>& words) {
  std::vector<uint64_t> counts(vocabulary.size());
  for (const uint32_t word : words) ++counts[word];
  std::vector<uint32_t> order(vocabulary.size()), place(vocabulary.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
  WordNumbers ranked;
  for (const uint32_t id : order) {
    if (counts[id] == 0) break;  // words of skipped lines only
    place[id] = ranked.add(vocabulary.word(id));
  }
  for (uint32_t& word : words) word = place[word];
  vocabulary = std::move(ranked);
}

uint64_t count_rest(LineReader& reader) {
  std::string_view line;
  while (reader.next(line)) {
    if (reader.line_number() % 4096 == 0) poll_interrupt();
  }
  return reader.line_number();
}

InputError refused_empty(const LineReader& here, const LineReader& other, bool other_empty) {
  return InputError(here.place() + ": the line is empty" +
                    (other_empty ? ", and so is " + other.place()
                                 : ", its partner " + other.place() + " is not") +
                    "; remove the pair, or skip such lines with --empty skip");
}

}  // namespace

Bitext read_bitext(ByteSource& source, ByteSource& target, const ReadOptions& options) {
  Bitext bitext;
  LineReader sources(source), targets(target);
  std::string_view line;
  const auto add = [&](WordNumbers& vocabulary, std::vector<uint32_t>& words) {
    for_each_word(line, kBlanks, [&](std::string_view w) { words.push_back(vocabulary.add(w)); });
  };
  while (true) {
    const size_t i0 = bitext.source_words.size(), j0 = bitext.target_words.size();
    // One line at a time: with both files on one pipe the other's view would not survive.
    const bool more_source = sources.next(line);
    if (more_source) add(bitext.source, bitext.source_words);
    const bool more_target = targets.next(line);
    if (more_target) add(bitext.target, bitext.target_words);
    if (more_source != more_target) {
      const uint64_t m = count_rest(sources), n = count_rest(targets);
      throw InputError(source.name() + " has " + std::to_string(m) + " lines, " + target.name() +
                       " has " + std::to_string(n) +
                       "; give two files that correspond line by line");
    }
    if (!more_source) break;
    if (sources.line_number() % 4096 == 0) poll_interrupt();
    const size_t I = bitext.source_words.size() - i0, J = bitext.target_words.size() - j0;
    const bool is_long = I > options.max_length || J > options.max_length;
    if (I > 0 && J > 0 && !is_long) {
      bitext.source_begin.push_back(bitext.source_words.size());
      bitext.target_begin.push_back(bitext.target_words.size());
      bitext.lines.push_back(sources.line_number());
      continue;
    }
    Skip reason = Skip::empty_both;
    if (I == 0 || J == 0) {
      if (options.refuse_empty) {
        throw I == 0 ? refused_empty(sources, targets, J == 0)
                     : refused_empty(targets, sources, false);
      }
      if (I > 0) reason = Skip::empty_target;
      if (J > 0) reason = Skip::empty_source;
    } else {
      const bool in_source = I > options.max_length;
      if (options.refuse_long) {
        throw InputError((in_source ? sources : targets).place() + ": a sentence of " +
                         std::to_string(in_source ? I : J) + " words, at most " +
                         std::to_string(options.max_length) +
                         " are aligned; split it, skip such lines with --long skip, or raise "
                         "--max-length");
      }
      reason = in_source ? Skip::long_source : Skip::long_target;
    }
    bitext.source_words.resize(i0);
    bitext.target_words.resize(j0);
    bitext.skipped.push_back({sources.line_number(), reason});
  }
  bitext.total_lines = sources.line_number();
  rank(bitext.source, bitext.source_words);
  rank(bitext.target, bitext.target_words);
  return bitext;
}

}  // namespace hopefear::align
