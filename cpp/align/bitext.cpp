#include "align/bitext.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/interrupt.hpp"

namespace hopefear::align {

uint32_t Vocabulary::find(std::string_view word) const {
  if (slots_.empty()) return kUnknown;
  const size_t mask = slots_.size() - 1;
  for (size_t slot = hash64(word) & mask;; slot = (slot + 1) & mask) {
    const uint32_t id = slots_[slot];
    if (id == kUnknown || this->word(id) == word) return id;
  }
}

uint32_t Vocabulary::add(std::string_view word) {
  if (2 * (size() + 1) > slots_.size()) grow();
  const size_t mask = slots_.size() - 1;
  size_t slot = hash64(word) & mask;
  for (; slots_[slot] != kUnknown; slot = (slot + 1) & mask) {
    if (this->word(slots_[slot]) == word) return slots_[slot];
  }
  const auto id = static_cast<uint32_t>(size());
  if (id == kUnknown - 1) throw InputError("more than 4 billion different words; use less text");
  text_.append(word);
  begin_.push_back(text_.size());
  slots_[slot] = id;
  return id;
}

void Vocabulary::grow() {
  slots_.assign(std::max<size_t>(1024, 2 * slots_.size()), kUnknown);
  const size_t mask = slots_.size() - 1;
  for (uint32_t id = 0; id < size(); ++id) {
    size_t slot = hash64(word(id)) & mask;
    while (slots_[slot] != kUnknown) slot = (slot + 1) & mask;
    slots_[slot] = id;
  }
}

namespace {

// Numbers the words that occur by falling frequency.
void rank(Vocabulary& vocabulary, std::vector<uint32_t>& words) {
  std::vector<uint64_t> counts(vocabulary.size());
  for (const uint32_t word : words) ++counts[word];
  std::vector<uint32_t> order(vocabulary.size()), place(vocabulary.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
  Vocabulary ranked;
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
  const auto add = [&](Vocabulary& vocabulary, std::vector<uint32_t>& words) {
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
