// Back-off n-gram models: the query that decoders call in their inner loops.
//
// The model is an automaton. A *context* is an n-gram that some longer n-gram continues, or that
// has a back-off weight; it is numbered, and the number is the whole right state: two hypotheses
// recombine if the numbers are equal. Each n-gram (context, word) stores its probability and the
// context that follows it, i.e. its longest suffix that is a context, so the state after a word is
// read, never searched; each context stores its back-off weight and the next shorter context. A
// word costs one table look-up when the longest n-gram is found, and one more for each back-off
// (KenLM's order of search needs one per word of the match). Keys are exact, there are no false
// matches.
//
// Two closures hold in every model (ensured by the builder): all prefixes and suffixes of an n-gram
// are n-grams, and all suffixes of a context are contexts. Where an ARPA file lacks such an n-gram
// it is filled in with the probability that backing off gives, so every score is the one defined
// by the file.
//
// Units: the file and the tables hold log10 exactly as the ARPA file does, so that totals equal
// those of other tools and nothing is lost in conversion; score() returns natural logs.
//
// Threads: a model is immutable; any number of threads may query it.
//
// Damaged files: opening compares all bytes with checksums (base/binary_file.hpp), which detects
// accidents only. Whatever the bytes of a forged file are, queries stay inside the arrays and end:
// table searches are bounded (model_table.hpp), context numbers and word ids are clamped where they
// are read, and a back-off that does not shorten the context ends the search.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/binary_file.hpp"
#include "base/hash.hpp"
#include "base/io.hpp"
#include "lm/model_table.hpp"

namespace hopefear::lm {

using WordId = uint32_t;
constexpr WordId kUnknown = 0;  // <unk>
constexpr unsigned kMaxOrder = 6;
constexpr double kLn10 = 2.302585092994045684;

// The right state: the number of the longest context that still matters. The upper 3 bits are its
// length in words, 0 is the empty context.
struct State {
  static constexpr unsigned kLengthShift = 29;
  static constexpr uint32_t kIndexMask = (uint32_t{1} << kLengthShift) - 1;
  uint32_t context = 0;
  unsigned length() const { return context >> kLengthShift; }
  friend bool operator==(State, State) = default;
};

struct Scored {
  float log10;        // back-offs included
  unsigned length;    // of the longest n-gram found, 1 also for an unknown word
  bool extends_left;  // some n-gram is this one with a word more on its left
  float natural() const { return static_cast<float>(log10 * kLn10); }
};

// The arrays of the binary file.
namespace layout {

// The sign bit of `weight` says "nothing extends it to the left", its magnitude is -log10 p.
struct Unigram {
  float weight;
  uint32_t next;
};
struct Ngram {
  uint64_t key;  // ngram_key(context, last word)
  float weight;
  uint32_t next;
};
struct Context {
  float backoff;  // log10
  uint32_t shorter;
};
struct Word {
  uint64_t key;  // word_key(text)
  uint32_t id;
  uint32_t reserved;
};
static_assert(sizeof(Unigram) == 8 && sizeof(Ngram) == 16 && sizeof(Context) == 8 &&
              sizeof(Word) == 16);

inline float log10_of(float weight) { return -std::fabs(weight); }
inline bool extends_left(float weight) { return !std::signbit(weight); }

constexpr uint64_t kMix1 = 0x9e3779b97f4a7c15ULL, kMix2 = 0xd6e8feb86659fd93ULL;
constexpr uint64_t odd_inverse(uint64_t a) {  // modulo 2^64, by Newton
  uint64_t x = a;
  for (int i = 0; i < 6; ++i) x *= 2 - a * x;
  return x;
}
constexpr uint64_t kUnmix1 = odd_inverse(kMix1), kUnmix2 = odd_inverse(kMix2);
// A bijection with 0 -> 0; (empty context, <unk>) is never asked for, so 0 is free.
inline uint64_t ngram_key(uint32_t context, WordId word) {
  uint64_t x = (uint64_t{context} << 32 | word) * kMix1;
  x ^= x >> 32;
  return x * kMix2;
}
inline uint64_t ngram_of_key(uint64_t key) {  // context << 32 | word
  uint64_t x = key * kUnmix2;
  x ^= x >> 32;
  return x * kUnmix1;
}
inline uint64_t word_key(uint64_t hash) { return hash != 0 ? hash : 1; }

struct Header {
  uint32_t order;
  WordId bos, eos;
  uint32_t unknown_added;        // the ARPA file had no <unk>
  uint64_t words;                // <unk> included
  uint64_t ngrams[kMaxOrder];    // as the ARPA file had them
  uint64_t filled[kMaxOrder];    // added for closure
  uint64_t contexts[kMaxOrder];  // [i]: of length i, the empty one apart
  uint64_t word_homes, word_reach;
  uint64_t homes[kMaxOrder], reach[kMaxOrder];  // [i]: n-grams of order i + 1, from 2
};

}  // namespace layout

class Model {
  static constexpr unsigned kLevels = 8;  // every value of a state's length bits

 public:
  // A file that write() wrote: memory-mapped, in time independent of its size. InputError.
  static std::shared_ptr<const Model> open(const std::string& path);
  // See model_builder.hpp for models from ARPA.
  Model() = default;
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  void write(const std::string& path) const;
  // As ARPA text, with the n-grams that were filled in; reading it again gives the same scores. The
  // n-grams of an order are in no particular order.
  void write_arpa(ByteSink& sink) const;

  unsigned order() const { return header_.order; }
  WordId vocabulary_size() const { return static_cast<WordId>(header_.words); }
  const layout::Header& header() const { return header_; }
  WordId bos() const { return header_.bos; }
  WordId eos() const { return header_.eos; }

  // kUnknown for what is not in the vocabulary. One hash and one look-up; words are identified by
  // their 64-bit hash, as in other toolkits.
  WordId find(std::string_view word) const { return find_hash(hash64(word)); }
  WordId find_hash(uint64_t hash) const {
    const layout::Word* found = words_.find(layout::word_key(hash));
    return found != nullptr && found->id < header_.words ? found->id : kUnknown;
  }
  void prefetch_hash(uint64_t hash) const {
    __builtin_prefetch(words_.home(layout::word_key(hash)));
  }
  std::string_view word(WordId id) const;  // `id` must be below vocabulary_size()

  State begin() const { return begin_; }  // after <s>
  State empty() const { return State{}; }

  // log p(word | in), natural log; `out` is the state after it (may be `in` itself). The word must
  // be below vocabulary_size().
  float score(State in, WordId word, State& out) const { return look_up(in, word, out).natural(); }

  // The same with all details, in log10.
  Scored look_up(State in, WordId word, State& out) const {
    uint32_t context = in.context;
    unsigned length = in.length();
    float backoffs[kLevels];  // each step is shorter than the one before
    unsigned missed = 0;
    float weight = 0;
    while (true) {
      if (length == 0) {
        weight = unigrams_[word].weight;
        out.context = unigrams_[word].next;
        break;
      }
      const layout::Context& here = context_of(length, context);
      __builtin_prefetch(&here);
      const layout::Ngram* found = tables_[length].find(layout::ngram_key(context, word));
      if (found != nullptr) {
        weight = found->weight;
        out.context = found->next;
        break;
      }
      backoffs[missed++] = here.backoff;
      context = here.shorter;
      const unsigned shorter = context >> State::kLengthShift;
      length = shorter < length ? shorter : 0;
    }
    // Added from the shortest context to the longest, as in KenLM, for bit-identical sums.
    float log10 = layout::log10_of(weight);
    while (missed > 0) log10 += backoffs[--missed];
    return {log10, length + 1, layout::extends_left(weight)};
  }

  // Prefetches the first memory access of a look_up, to overlap it with other work.
  void prefetch(State in, WordId word) const {
    if (in.length() > 0) {
      __builtin_prefetch(tables_[in.length()].home(layout::ngram_key(in.context, word)));
    }
  }

  // log10: the sum of the back-off weights of this state's contexts that are longer than `length`.
  float backoff_beyond(State state, unsigned length) const {
    float sum = 0;
    uint32_t context = state.context;
    for (unsigned at = state.length(); at > length;) {
      const layout::Context& here = context_of(at, context);
      sum += here.backoff;
      context = here.shorter;
      const unsigned shorter = context >> State::kLengthShift;
      at = shorter < at ? shorter : 0;
    }
    return sum;
  }

 protected:
  const layout::Context& context_of(unsigned length, uint32_t context) const {
    const std::span<const layout::Context> level = contexts_[length];
    const uint32_t index = context & State::kIndexMask;
    return level.data()[index < level.size() ? index : 0];
  }
  // Checks the arrays against the header; gives unused levels an empty array of their own.
  void check(const std::function<InputError(const std::string&)>& damaged);

  layout::Header header_ = {};
  std::span<const layout::Unigram> unigrams_;
  TableView<layout::Ngram> tables_[kLevels];  // [length of the context]
  std::span<const layout::Context> contexts_[kLevels];
  TableView<layout::Word> words_;
  std::span<const uint32_t> text_offsets_;  // words + 1
  std::span<const char> text_;
  State begin_;
};

// For hash tables of hypotheses.
inline uint64_t hash_of(State state) { return mix64(state.context); }

}  // namespace hopefear::lm

template <>
struct std::hash<hopefear::lm::State> {
  size_t operator()(hopefear::lm::State state) const { return hopefear::lm::hash_of(state); }
};
