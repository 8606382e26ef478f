#include "lm/model_text.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/interrupt.hpp"
#include "base/threads.hpp"

namespace hopefear::lm {
namespace {

constexpr size_t kPadding = 8;  // readable bytes behind every text passed to scan()
constexpr size_t kBlock = size_t{256} << 10;

bool separates(unsigned char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\0';
}

uint64_t load8(const char* p) {
  uint64_t x;
  std::memcpy(&x, p, 8);
  return x;
}

// The high bit of the first byte below 33 is the lowest bit set; 0 if there is none. All separators
// are below 33; the caller distinguishes them from control characters.
uint64_t low_bytes(uint64_t x) { return (x - 0x2121212121212121ULL) & ~x & 0x8080808080808080ULL; }

// hash64() of a word, with reads beyond its end instead of a copy of its last bytes.
inline uint64_t hash_padded(const char* p, size_t size) {
  uint64_t h = 0x9ae16a3b2f90404fULL ^ (size * 0xc2b2ae3d27d4eb4fULL);
  for (; size >= 8; size -= 8, p += 8) h = (h ^ mix64(load8(p))) * 0x9fb21c651e98df25ULL;
  if (size > 0) {
    h = (h ^ mix64(load8(p) & ((uint64_t{1} << 8 * size) - 1))) * 0x9fb21c651e98df25ULL;
  }
  return mix64(h);
}

// Calls word(begin, size) and, after each '\n', newline(). Eight bytes at a time: most words end in
// their first load, without a loop over characters.
template <typename Word, typename Newline>
void scan(const char* p, const char* end, Word&& word, Newline&& newline) {
  while (p < end) {
    const char* q = p;
    while (true) {
      const uint64_t low = low_bytes(load8(q));
      if (low == 0) {
        q += 8;
        if (q < end) continue;
        q = end;
        break;
      }
      q += std::countr_zero(low) >> 3;
      if (q >= end) {
        q = end;
        break;
      }
      if (separates(static_cast<unsigned char>(*q))) break;
      ++q;  // another control character is part of the word
    }
    if (q > p) word(p, static_cast<size_t>(q - p));
    if (q < end && *q == '\n') newline();
    p = q + 1;
  }
}

// Whole lines of a source, a block of at least some 100 KB at a time (or what a pipe has ready), in
// memory that is padded for scan(). A line of any length is in one block.
class BlockReader {
 public:
  explicit BlockReader(ByteSource& source) : source_(source) {}

  // False at the end. The last line of a text may lack its '\n'.
  bool next(std::string& block) {
    block.clear();
    while (true) {
      const size_t newline = rest_.rfind('\n');
      if (newline != std::string::npos) {
        block.assign(rest_, 0, newline + 1);
        rest_.erase(0, newline + 1);
        break;
      }
      const size_t size = rest_.size();
      rest_.resize(size + std::max(kBlock, size));
      const size_t n = source_.read(rest_.data() + size, rest_.size() - size);
      rest_.resize(size + n);
      if (n == 0) {
        block.swap(rest_);
        rest_.clear();
        break;
      }
    }
    if (block.empty()) return false;
    size_ = block.size();
    block.append(kPadding, '\0');
    return true;
  }
  size_t size() const { return size_; }  // of the block, without its padding

 private:
  ByteSource& source_;
  std::string rest_;
  size_t size_ = 0;
};

// The words of some lines, one line after the other.
struct Lines {
  std::vector<uint64_t> hashes;
  std::vector<WordId> words;
  std::vector<uint64_t> ends;  // of each line in `words`

  // Hash first and look up afterwards: the vocabulary's cache misses overlap.
  // `texts`: also takes the words themselves, which point into the text.
  void read(const Model& model, std::string_view padded_text,
            std::vector<std::string_view>* texts = nullptr) {
    hashes.clear();
    ends.clear();
    if (texts != nullptr) texts->clear();
    const char* const end = padded_text.data() + padded_text.size();
    scan(
        padded_text.data(), end,
        [&](const char* p, size_t size) {
          hashes.push_back(hash_padded(p, size));
          if (texts != nullptr) texts->emplace_back(p, size);
        },
        [&] { ends.push_back(hashes.size()); });
    if (!padded_text.empty() && padded_text.back() != '\n') ends.push_back(hashes.size());
    look_up(model);
  }
  void look_up(const Model& model) {
    constexpr size_t kAhead = 12;
    words.resize(hashes.size());
    for (size_t i = 0; i < hashes.size(); ++i) {
      if (i + kAhead < hashes.size()) model.prefetch_hash(hashes[i + kAhead]);
      words[i] = model.find_hash(hashes[i]);
    }
  }
};

// KenLM adds the words of a sentence in single precision, which changes totals by up to about 1e-5;
// we do the same for totals that are equal to the last digit. Only for up to 256 words, since
// the error grows with the sum.
class Total {
 public:
  void add(float log10) {
    part_ += log10;
    if (++count_ % 256 == 0) sum_ += std::exchange(part_, 0.0F);
  }
  double value() const { return sum_ + part_; }

 private:
  float part_ = 0;
  unsigned count_ = 0;
  double sum_ = 0;
};

SentenceScore score_ids(const Model& model, const WordId* word, const WordId* end,
                        Boundaries boundaries) {
  SentenceScore result;
  result.tokens = static_cast<uint64_t>(end - word) + (boundaries.eos ? 1 : 0);
  State state = boundaries.bos ? model.begin() : model.empty();
  Total total;
  for (; word != end; ++word) {
    const float log10 = model.look_up(state, *word, state).log10;
    total.add(log10);
    if (*word == kUnknown) {
      ++result.unknown;
      result.log10_unknown += log10;
    }
  }
  if (boundaries.eos) total.add(model.look_up(state, model.eos(), state).log10);
  result.log10 = total.value();
  return result;
}

// Scores many sentences, a few at a time in turns: a look-up depends on the state that the previous
// one read from memory, so a single sentence waits for memory at every word. With eight sentences
// in flight the waits overlap.
void score_lines(const Model& model, const Lines& lines, Boundaries boundaries,
                 std::vector<SentenceScore>& scores) {
  constexpr size_t kLanes = 8;
  struct Lane {
    const WordId* word;  // the next to score; at `end` it is </s>
    const WordId* end;
    State state;
    Total total;
    SentenceScore* score;
  };
  const State first = boundaries.bos ? model.begin() : model.empty();
  const uint64_t marks = boundaries.eos ? 1 : 0;
  scores.assign(lines.ends.size(), {});
  size_t next_line = 0;
  const auto start = [&](Lane& lane) {  // returns false if no line is left
    while (next_line < scores.size()) {
      const size_t line = next_line++;
      const WordId* const words = lines.words.data();
      lane = {words + (line > 0 ? lines.ends[line - 1] : 0),
              words + lines.ends[line],
              first,
              {},
              &scores[line]};
      lane.score->tokens = static_cast<uint64_t>(lane.end - lane.word) + marks;
      if (lane.score->tokens > 0) return true;
    }
    return false;
  };
  Lane lanes[kLanes];
  size_t active = 0;
  while (active < kLanes && start(lanes[active])) ++active;
  while (active > 0) {
    for (size_t i = 0; i < active; ++i) {
      Lane& lane = lanes[i];
      const bool mark = lane.word == lane.end;
      const WordId word = mark ? model.eos() : *lane.word;
      const float log10 = model.look_up(lane.state, word, lane.state).log10;
      lane.total.add(log10);
      if (word == kUnknown) [[unlikely]] {
        ++lane.score->unknown;
        lane.score->log10_unknown += log10;
      }
      ++lane.word;
      if (mark || (lane.word == lane.end && !boundaries.eos)) {
        lane.score->log10 = lane.total.value();
        if (!start(lane)) {
          lane = lanes[--active];
          --i;
          continue;
        }
      }
      model.prefetch(lane.state, lane.word == lane.end ? model.eos() : *lane.word);
    }
  }
}

std::string padded(std::string_view text) {
  std::string copy;
  copy.reserve(text.size() + kPadding);
  copy.append(text);
  copy.append(kPadding, '\0');
  return copy;
}

template <typename Number>
void append_number(std::string& text, Number value) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

}  // namespace

SentenceScore score_words(const Model& model, const std::vector<WordId>& words,
                          Boundaries boundaries) {
  return score_ids(model, words.data(), words.data() + words.size(), boundaries);
}

SentenceScore score_sentence(const Model& model, std::string_view text, Boundaries boundaries) {
  // Most sentences are short, and each is a call of its own: no allocation for them.
  constexpr size_t kShort = 1024;
  if (text.size() > kShort) {
    const std::string copy = padded(text);
    Lines lines;
    scan(
        copy.data(), copy.data() + text.size(),
        [&](const char* p, size_t size) { lines.hashes.push_back(hash_padded(p, size)); }, [] {});
    lines.look_up(model);
    return score_words(model, lines.words, boundaries);
  }
  char copy[kShort + kPadding];
  std::memcpy(copy, text.data(), text.size());
  std::memset(copy + text.size(), 0, kPadding);
  WordId words[kShort / 2 + 1];
  size_t count = 0;
  scan(
      copy, copy + text.size(),
      [&](const char* p, size_t size) { words[count++] = model.find_hash(hash_padded(p, size)); },
      [] {});
  return score_ids(model, words, words + count, boundaries);
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  const std::string copy = padded(text);
  scan(
      copy.data(), copy.data() + text.size(),
      [&](const char* p, size_t size) {
        words.push_back(text.substr(static_cast<size_t>(p - copy.data()), size));
      },
      [] {});
  return words;
}

std::vector<WordScore> score_each(const Model& model, const std::vector<std::string_view>& words,
                                  Boundaries boundaries) {
  std::vector<WordScore> result;
  result.reserve(words.size() + 1);
  State state = boundaries.bos ? model.begin() : model.empty();
  const auto add = [&](std::string_view word, WordId id) {
    const Scored scored = model.look_up(state, id, state);
    result.push_back({word, id, scored.log10, scored.length});
  };
  for (const std::string_view word : words) add(word, model.find(word));
  if (boundaries.eos) add(model.word(model.eos()), model.eos());
  return result;
}

TextScore score_text(const Model& model, ByteSource& source, Boundaries boundaries, size_t threads,
                     const std::function<void(uint64_t)>& progress) {
  struct Job {
    std::string block;
    size_t size;
    Lines lines;
    std::vector<SentenceScore> scores;
  };
  BlockReader reader(source);
  std::vector<Job> jobs(threads <= 1 ? 1 : 4 * threads);
  TextScore result;
  while (true) {
    size_t count = 0;
    while (count < jobs.size() && reader.next(jobs[count].block)) {
      jobs[count++].size = reader.size();
    }
    if (count == 0) return result;
    parallel_for(count, threads, [&](size_t i) {
      Job& job = jobs[i];
      job.lines.read(model, {job.block.data(), job.size});
      score_lines(model, job.lines, boundaries, job.scores);
    });
    for (size_t i = 0; i < count; ++i) {
      result.sentences += jobs[i].scores.size();
      for (const SentenceScore& score : jobs[i].scores) {
        result.sum.log10 += score.log10;
        result.sum.log10_unknown += score.log10_unknown;
        result.sum.tokens += score.tokens;
        result.sum.unknown += score.unknown;
      }
    }
    progress(result.sentences);
    poll_interrupt();
  }
}

namespace {

// Appends "WORD=ID LENGTH LOG10<TAB>".
void append_word(std::string& output, std::string_view word, WordId id, const Scored& scored) {
  output.append(word).push_back('=');
  append_number(output, id);
  output.push_back(' ');
  append_number(output, scored.length);
  output.push_back(' ');
  append_number(output, scored.log10);
  output.push_back('\t');
}

void append_total(std::string& output, const SentenceScore& score) {
  output.append("Total: ");
  append_number(output, static_cast<float>(score.log10));  // digits beyond are noise of the sum
  output.append(" OOV: ");
  append_number(output, score.unknown);
  output.push_back('\n');
}

}  // namespace

void query_text(const Model& model, ByteSource& source, ByteSink& sink, Boundaries boundaries,
                bool each_word) {
  BlockReader reader(source);
  Lines lines;
  std::vector<std::string_view> texts;
  std::vector<SentenceScore> scores;
  std::string block, output;
  while (reader.next(block)) {
    output.clear();
    lines.read(model, {block.data(), reader.size()}, each_word ? &texts : nullptr);
    score_lines(model, lines, boundaries, scores);
    size_t word = 0;
    for (size_t line = 0; line < scores.size(); ++line) {
      State state = boundaries.bos ? model.begin() : model.empty();
      if (each_word) {
        for (; word < lines.ends[line]; ++word) {
          const WordId id = lines.words[word];
          append_word(output, texts[word], id, model.look_up(state, id, state));
        }
        if (boundaries.eos) {
          const WordId eos = model.eos();
          append_word(output, model.word(eos), eos, model.look_up(state, eos, state));
        }
      }
      append_total(output, scores[line]);
    }
    sink.write(output);
    poll_interrupt();
  }
}

}  // namespace hopefear::lm
