#include "rules/aligned_corpus.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace hopefear::rules {
namespace {

constexpr size_t kBlockWords = size_t{1} << 14;

std::string grouped(uint64_t number) {  // 1,234,567
  const std::string digits = std::to_string(number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

void split(std::string_view line, WordNumbers& words, std::vector<Word>& sentence) {
  sentence.clear();
  for_each_word(line, kBlanks, [&](std::string_view word) { sentence.push_back(words.add(word)); });
}

}  // namespace

void parse_points(std::string_view line, size_t source_size, size_t target_size,
                  const std::string& place, std::vector<Point>& points) {
  points.clear();
  for_each_word(line, kBlanks, [&](std::string_view word) {
    Point point{};
    const char* end = word.data() + word.size();
    const auto first = std::from_chars(word.data(), end, point.source);
    bool good = first.ec == std::errc() && first.ptr != end && *first.ptr == '-';
    if (good) {
      const auto second = std::from_chars(first.ptr + 1, end, point.target);
      good = second.ec == std::errc() && second.ptr == end;
    }
    if (!good) {
      throw InputError(place + ": " + shown(word) +
                       " is no alignment point; expected points such as 0-0 1-2 "
                       "(source-target, counted from 0), give an alignment file");
    }
    if (point.source >= source_size || point.target >= target_size) {
      throw InputError(place + ": point " + std::string(word) +
                       " is outside the sentence pair of " + std::to_string(source_size) + " and " +
                       std::to_string(target_size) +
                       " words; align this very text (is source and target exchanged?)");
    }
    points.push_back(point);
  });
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
}

AlignedCorpus::AlignedCorpus(ByteSource& source, ByteSource& target, ByteSource& alignment,
                             const std::string& scratch_directory,
                             const std::function<void(uint64_t)>& progress)
    : file_(scratch_directory) {
  std::array<LineReader, 3> readers = {LineReader(source), LineReader(target),
                                       LineReader(alignment)};
  std::array<std::string_view, 3> lines;
  SentencePair pair;
  std::vector<bool> source_linked, target_linked;
  while (true) {
    std::array<bool, 3> more;
    for (size_t i = 0; i < 3; ++i) more[i] = readers[i].next_text(lines[i]);
    if (!more[0] && !more[1] && !more[2]) break;
    if (!(more[0] && more[1] && more[2])) {
      std::string counts;
      for (size_t i = 0; i < 3; ++i) {
        while (readers[i].next(lines[i])) poll_interrupt();
        const uint64_t n = readers[i].line_number();
        counts += (i > 0 ? ", " : "") + readers[i].name() + " has " + grouped(n) +
                  (n == 1 ? " line" : " lines");
      }
      throw InputError(counts +
                       "; parallel files need one line for one line, give files of equal length");
    }
    split(lines[0], source_words_, pair.source);
    split(lines[1], target_words_, pair.target);
    parse_points(lines[2], pair.source.size(), pair.target.size(), readers[2].place(), pair.points);
    source_linked.assign(pair.source.size(), false);
    target_linked.assign(pair.target.size(), false);
    for (const Point& point : pair.points) {
      lexicon_.add(pair.source[point.source], pair.target[point.target]);
      source_linked[point.source] = target_linked[point.target] = true;
    }
    for (size_t i = 0; i < pair.source.size(); ++i) {
      if (!source_linked[i]) lexicon_.add(pair.source[i], kNoWord);
    }
    for (size_t i = 0; i < pair.target.size(); ++i) {
      if (!target_linked[i]) lexicon_.add(kNoWord, pair.target[i]);
    }
    add(pair);
    if (sentences_ % 1024 == 0) {
      poll_interrupt();
      progress(sentences_);
    }
  }
  finish_block();
  if (sentences_ >= kNoWord) {
    throw InputError(readers[0].name() + ": more than 4 billion sentences; use fewer");
  }
  progress(sentences_);
}

void AlignedCorpus::add(const SentencePair& pair) {
  pending_.push_back(static_cast<uint32_t>(pair.source.size()));
  pending_.push_back(static_cast<uint32_t>(pair.target.size()));
  pending_.push_back(static_cast<uint32_t>(pair.points.size()));
  pending_.insert(pending_.end(), pair.source.begin(), pair.source.end());
  pending_.insert(pending_.end(), pair.target.begin(), pair.target.end());
  for (const Point& point : pair.points) {
    pending_.push_back(point.source);
    pending_.push_back(point.target);
  }
  ++sentences_;
  if (pending_.size() >= kBlockWords) finish_block();
}

void AlignedCorpus::finish_block() {
  if (sentences_ == pending_first_) return;
  blocks_.push_back({file_.size(), pending_first_});
  file_.append(pending_.data(), pending_.size() * sizeof(uint32_t));
  pending_.clear();
  pending_first_ = sentences_;
}

std::vector<uint32_t> AlignedCorpus::data(size_t block) const {
  const bool last = block + 1 == blocks_.size();
  const uint64_t end = last ? file_.size() : blocks_[block + 1].offset;
  std::vector<uint32_t> data((end - blocks_[block].offset) / sizeof(uint32_t));
  file_.read_at(blocks_[block].offset, data.data(), data.size() * sizeof(uint32_t));
  return data;
}

void AlignedCorpus::visit_block(uint64_t first, std::span<const uint32_t> data,
                                const Visit& visit) {
  SentencePair pair;
  for (const uint32_t *at = data.data(), *end = at + data.size(); at < end; ++first) {
    const size_t source = at[0], target = at[1], points = at[2];
    at += 3;
    pair.source.assign(at, at + source);
    at += source;
    pair.target.assign(at, at + target);
    at += target;
    pair.points.clear();
    for (size_t i = 0; i < points; ++i, at += 2) pair.points.push_back({at[0], at[1]});
    visit(first, pair);
  }
}

uint64_t AlignedCorpus::bytes() const {
  return source_words_.bytes() + target_words_.bytes() + lexicon_.bytes() +
         blocks_.capacity() * sizeof(Block);
}

}  // namespace hopefear::rules
