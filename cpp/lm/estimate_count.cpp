#include "lm/estimate_count.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/threads.hpp"

namespace hopefear::lm::estimation {
namespace {

constexpr uint64_t kMaxTokens = (uint64_t{1} << 32) - 2;  // counts and ranks have 32 bits
constexpr size_t kReadSize = 64 << 10;
constexpr size_t kBatch = 1024;

// White space as lmplz defines it: blank, tab, CR, LF and NUL.
constexpr auto kIsSpace = [] {
  std::array<bool, 256> table{};
  for (const unsigned char c : {' ', '\t', '\r', '\n', '\0'}) table[c] = true;
  return table;
}();
bool is_space(char c) { return kIsSpace[static_cast<unsigned char>(c)]; }

template <int N>
Ngram<N> ngram_at(std::span<const WordId> tokens, uint32_t end) {
  Ngram<N> ngram;
  for (int j = 0; j < N; ++j) ngram.words[j] = tokens[end - j];
  ngram.count = 1;
  return ngram;
}

// The n-grams of a sorted block.
template <int N>
class BlockStream : public NgramStream<N> {
 public:
  BlockStream(std::span<const WordId> tokens, std::span<const uint32_t> ends)
      : tokens_(tokens), ends_(ends), batch_(kBatch) {}
  std::span<const Ngram<N>> next_batch() override {
    poll_interrupt();
    size_t n = 0;
    for (; at_ < ends_.size(); ++at_) {
      const Ngram<N> ngram = ngram_at<N>(tokens_, ends_[at_]);
      if (n > 0 && batch_[n - 1].absorb(ngram)) continue;
      if (n == kBatch) break;
      batch_[n++] = ngram;
    }
    return {batch_.data(), n};
  }

 private:
  std::span<const WordId> tokens_;
  std::span<const uint32_t> ends_;
  std::vector<Ngram<N>> batch_;
  size_t at_ = 0;
};

template <int N>
class MergeStream : public NgramStream<N> {
 public:
  explicit MergeStream(RunMerger<Ngram<N>>& runs) : runs_(runs) {}
  std::span<const Ngram<N>> next_batch() override { return runs_.next_batch(); }

 private:
  RunMerger<Ngram<N>>& runs_;
};

// Sorts the positions `ends`, whose last words are in [low, high), by the N words that end there:
// a radix sort, the leftmost word first. `count` has a place for every word id.
template <int N>
void sort_ends(std::span<const WordId> tokens, std::span<uint32_t> ends, std::span<uint32_t> spare,
               std::vector<uint32_t>& count) {
  uint32_t *from = ends.data(), *to = spare.data();
  const size_t n = ends.size();
  for (int j = N - 1; j >= 0; --j) {
    std::fill(count.begin(), count.end(), 0);
    for (size_t i = 0; i < n; ++i) ++count[tokens[from[i] - j]];
    uint32_t sum = 0;
    for (uint32_t& c : count) sum += std::exchange(c, sum);
    for (size_t i = 0; i < n; ++i) to[count[tokens[from[i] - j]]++] = from[i];
    std::swap(from, to);
  }
  if (from != ends.data()) std::copy_n(from, n, ends.data());
}

}  // namespace

template <int N>
Counter<N>::Counter(const Pages& workspace, WordNumbers& vocabulary, const Settings& settings,
                    Disk& disk)
    : tokens_space_(workspace.part<WordId>(0, 3)),
      ends_(workspace.part<uint32_t>(1, 3)),
      spare_(workspace.part<uint32_t>(2, 3)),
      vocabulary_(vocabulary),
      settings_(settings),
      workspace_(workspace),
      runs_(disk) {
  size_t most = std::min<size_t>(tokens_space_.size(), kMaxTokens);
  tokens_space_ = tokens_space_.first(most);
  for (int i = 0; i < N - 1; ++i) put(kUnknown);
}

template <int N>
void Counter<N>::add(ByteSource& text, const std::function<void(uint64_t)>& progress) {
  std::vector<char> buffer(kReadSize);
  size_t kept = 0;  // bytes at the beginning of the buffer: a word that the next block may continue
  uint64_t line = 1;
  bool in_line = false;
  while (true) {
    if (kept == buffer.size()) {
      buffer.resize(2 * buffer.size());
      if (buffer.size() > settings_.vocabulary_bytes) {
        throw InputError(text.name() + ":" + std::to_string(line) + ": a word of more than " +
                         std::to_string(kept) + " bytes; is it a text? raise --memory if so");
      }
    }
    const size_t n = text.read(buffer.data() + kept, buffer.size() - kept);
    poll_interrupt();
    const char* const end = buffer.data() + kept + n;
    const char* p = buffer.data();
    const char* scan = p + kept;
    while (true) {
      while (scan < end && !is_space(*scan)) ++scan;
      if (scan == end && n > 0) break;
      if (scan > p) {
        if (!in_line) begin_sentence();
        in_line = true;
        word({p, static_cast<size_t>(scan - p)}, text, line);
      }
      if (scan == end) break;
      if (*scan == '\n') {
        if (!in_line) begin_sentence();
        in_line = false;
        end_sentence();
        ++line;
      } else if (!in_line) {
        begin_sentence();
        in_line = true;
      }
      p = ++scan;
    }
    progress(tokens_);
    if (n == 0) break;
    kept = static_cast<size_t>(end - p);
    std::memmove(buffer.data(), p, kept);
  }
  if (in_line) end_sentence();
}

template <int N>
void Counter<N>::end_sentence() {
  put(kEnd);
  ++sentences_;
}

template <int N>
void Counter<N>::word(std::string_view word, const ByteSource& text, uint64_t line) {
  const size_t known = vocabulary_.size();
  const WordId id = vocabulary_.add(word);
  if (id < kFirstWord) [[unlikely]] {
    if (settings_.skip_symbols) return;
    throw InputError(text.name() + ":" + std::to_string(line) + ": the text contains '" +
                     std::string(word) +
                     "', which the model uses itself; remove it, or treat it as white space with "
                     "--skip-symbols");
  }
  if (id == known && vocabulary_bytes() > settings_.vocabulary_bytes) [[unlikely]] {
    throw InputError(text.name() + ":" + std::to_string(line) + ": the vocabulary, " +
                     std::to_string(known) + " words so far, no longer fits; raise --memory");
  }
  if (tokens_ + sentences_ >= kMaxTokens) [[unlikely]] {
    throw InputError(text.name() + ":" + std::to_string(line) +
                     ": more than 4,294,967,294 tokens and lines; use less text");
  }
  ++tokens_;
  put(id);
}

template <int N>
size_t Counter<N>::vocabulary_bytes() const {
  // Besides the words, two arrays of counters for sort_block and the longest list of words that
  // follow one context (estimate_interpolate).
  return vocabulary_.bytes() + vocabulary_.size() * (2 * sizeof(uint32_t) + 16);
}

template <int N>
void Counter<N>::sort_block() {
  const std::span<const WordId> tokens = tokens_space_.first(size_);
  const size_t types = vocabulary_.size();
  // Groups of last words. Smaller ones fit the cache, but each costs a walk over the vocabulary.
  const size_t group_size = std::max<size_t>(size_t{1} << 16, 4 * types);
  std::vector<uint32_t> count(types);
  for (size_t i = N - 1; i < size_; ++i) ++count[tokens[i]];
  count[kUnknown] = count[kBegin] = 0;  // they never end an n-gram
  std::vector<size_t> begin = {0};
  ends_size_ = 0;
  for (uint32_t& c : count) {
    if (ends_size_ - begin.back() >= group_size) begin.push_back(ends_size_);
    ends_size_ += c;
    c = static_cast<uint32_t>(begin.size() - 1);  // the group of this word
  }
  std::vector<size_t> next = begin;
  begin.push_back(ends_size_);
  for (size_t i = N - 1; i < size_; ++i) {
    if (tokens[i] >= kEnd) ends_[next[count[tokens[i]]]++] = static_cast<uint32_t>(i);
  }
  const size_t affordable =
      1 + (settings_.vocabulary_bytes - std::min(settings_.vocabulary_bytes, vocabulary_bytes())) /
              (sizeof(uint32_t) * types);
  parallel_for(begin.size() - 1, std::min(settings_.threads, affordable), [&](size_t group) {
    std::vector<uint32_t> counters(types);
    const size_t from = begin[group], n = begin[group + 1] - from;
    sort_ends<N>(tokens, ends_.subspan(from, n), spare_.subspan(from, n), counters);
  });
}

template <int N>
void Counter<N>::spill() {
  sort_block();
  BlockStream<N> block(tokens_space_.first(size_), ends_.first(ends_size_));
  runs_.begin_run();
  // Equal n-grams are always in the same batch: see BlockStream.
  for (auto batch = block.next_batch(); !batch.empty(); batch = block.next_batch()) {
    runs_.append(batch);
  }
  std::copy_n(tokens_space_.begin() + static_cast<std::ptrdiff_t>(size_ - (N - 1)), N - 1,
              tokens_space_.begin());
  size_ = N - 1;
}

template <int N>
std::unique_ptr<NgramStream<N>> Counter<N>::finish() {
  if (runs_.empty()) {
    sort_block();
    return std::make_unique<BlockStream<N>>(tokens_space_.first(size_), ends_.first(ends_size_));
  }
  if (size_ > N - 1) spill();
  runs_.begin_merge(workspace_.part<Ngram<N>>(0, 1));
  return std::make_unique<MergeStream<N>>(runs_);
}

template class Counter<1>;
template class Counter<2>;
template class Counter<3>;
template class Counter<4>;
template class Counter<5>;
template class Counter<6>;

}  // namespace hopefear::lm::estimation
