#include "lm/model_builder.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "base/interrupt.hpp"
#include "lm/arpa_reader.hpp"

namespace hopefear::lm {
namespace {

using layout::Context;
using layout::Ngram;
using layout::Unigram;

constexpr float kUnknownLog10 = -100;
constexpr uint64_t kMostNgrams = uint64_t{1} << 32;  // of an order
constexpr size_t kBatch = 32;  // look-ups in flight: the memory's latency is paid once per batch

static_assert(kMaxOrder == ArpaReader::kMaxOrder);

float no_extension(float log10) { return -std::fabs(log10); }  // sign bit set, also for 0
void mark_extended(float& weight) { weight = std::fabs(weight); }

unsigned length_of(uint32_t context) { return context >> State::kLengthShift; }

struct Arrays {
  std::string pool;  // the words, one after the other
  std::vector<uint32_t> offsets = {0};
  TableBuilder<layout::Word> words;
  ZeroedArray<Unigram> unigrams;
  TableBuilder<Ngram> tables[kMaxOrder + 1];  // [order], from 2
  ZeroedArray<Context> levels[kMaxOrder];     // [length], from 1
};

class OwnedModel : public Model {
 public:
  OwnedModel(const layout::Header& header, Arrays&& arrays) : arrays_(std::move(arrays)) {
    header_ = header;
    words_ = arrays_.words.view();
    header_.word_homes = words_.homes;
    header_.word_reach = words_.reach;
    unigrams_ = {arrays_.unigrams.data(), header_.words};
    text_offsets_ = arrays_.offsets;
    text_ = arrays_.pool;
    for (unsigned n = 2; n <= order(); ++n) {
      tables_[n - 1] = arrays_.tables[n].view();
      header_.homes[n - 1] = tables_[n - 1].homes;
      header_.reach[n - 1] = tables_[n - 1].reach;
      contexts_[n - 1] = {arrays_.levels[n - 1].data(), header_.contexts[n - 1]};
    }
    check([](const std::string& why) { return InputError(why); });
  }

 private:
  Arrays arrays_;
};

// While building, `next` of an n-gram of order k is its own context number if it has one (a
// number of length k), else any shorter context.
//
// Reading an order finds the prefix of each n-gram by walking down from its first word and makes
// it a context. link() then finds the suffix of each n-gram with one look-up, since the suffix of
// (context, word) is (next shorter context, word).
class Builder {
 public:
  Builder(ByteSource& source, const std::function<void(uint64_t)>& progress)
      : reader_(source), progress_(progress) {}

  std::shared_ptr<const Model> build() {
    header_.order = reader_.order();
    read_unigrams();
    for (unsigned n = 2; n <= order(); ++n) read_order(n);
    while (!link()) fill_in_suffixes();
    weigh_filled();
    return std::make_shared<OwnedModel>(header_, std::move(arrays_));
  }

 private:
  struct Filled {
    unsigned n;
    uint64_t key;
  };
  using Words = std::array<WordId, kMaxOrder>;

  // ---- vocabulary ----

  template <typename Make>
  auto reserve(unsigned n, Make&& make) {
    try {
      if (reader_.count(n) > kMostNgrams) throw std::bad_alloc();
      return make(reader_.count(n));
    } catch (const std::bad_alloc&) {
      throw InputError(reader_.name() + ": the header promises " +
                       std::to_string(reader_.count(n)) + " " + std::to_string(n) +
                       "-grams, more than fit into memory; check it, or prune the model");
    }
  }

  void read_unigrams() {
    word_table_ = reserve(1, [](uint64_t n) {
      return TableBuilder<layout::Word>(3 * (n + 1) / 2);
    });  // load 1/2: a small table, with a look-up for every word
    unigram_array_ = reserve(1, [](uint64_t n) { return ZeroedArray<Unigram>(n + 1); });
    if (order() > 1) {
      levels_[1] = reserve(1, [](uint64_t n) { return ZeroedArray<Context>(n + 1); });
    }
    add_word("<unk>");
    bool known = false;
    ArpaNgram line;
    while (reader_.next(1, line)) {
      const std::string_view text = line.words[0];
      WordId id = kUnknown;
      if (text == "<unk>" || text == "<UNK>") {
        if (known) throw reader_.error("<unk> is there twice");
        known = true;
      } else {
        id = add_word(text);
      }
      unigram_array_[id] = {no_extension(line.log10), 0};
      if (line.backoff != 0 && order() > 1) {
        unigram_array_[id].next = new_context(1, line.backoff, 0);
      }
      tick();
    }
    if (!known) unigram_array_[kUnknown] = {kUnknownLog10, 0};
    header_.unknown_added = known ? 0 : 1;
    header_.words = offsets_.size() - 1;
    header_.ngrams[0] = reader_.count(1);
    header_.bos = sentence_mark("<s>");
    header_.eos = sentence_mark("</s>");
  }

  WordId add_word(std::string_view text) {
    const auto [slot, is_new] = word_table_.insert(layout::word_key(hash64(text)));
    if (!is_new) {
      const std::string_view other(pool_.data() + offsets_[slot->id],
                                   offsets_[slot->id + 1] - offsets_[slot->id]);
      throw reader_.error(other == text ? "the word " + shown(text) + " is there twice"
                                        : "the hashes of " + shown(text) + " and " + shown(other) +
                                              " are equal");
    }
    slot->id = static_cast<WordId>(offsets_.size() - 1);
    pool_.append(text);
    if (pool_.size() > UINT32_MAX) throw reader_.error("the vocabulary has more than 4 GB of text");
    offsets_.push_back(static_cast<uint32_t>(pool_.size()));
    return slot->id;
  }

  // A mark that the file lacks is scored as <unk>, as in KenLM.
  WordId sentence_mark(std::string_view text) {
    const layout::Word* slot = word_table_.find(layout::word_key(hash64(text)));
    return slot == nullptr ? kUnknown : slot->id;
  }

  WordId id_of(std::string_view text, unsigned n) {
    const layout::Word* slot = word_table_.find(layout::word_key(hash64(text)));
    if (slot != nullptr) return slot->id;
    if (text == "<UNK>") return kUnknown;
    throw reader_.error("the word " + shown(text) + " of this " + std::to_string(n) +
                        "-gram is not among the 1-grams");
  }

  // ---- n-grams ----

  uint32_t new_context(unsigned length, float backoff, uint32_t shorter) {
    ZeroedArray<Context>& level = levels_[length];
    uint64_t& used = header_.contexts[length];
    if (used == level.size()) level.grow(used + used / 2 + 16);
    if (used > State::kIndexMask) {
      throw InputError(reader_.name() + ": more than " + std::to_string(State::kIndexMask) +
                       " contexts of " + std::to_string(length) + " words; prune the model");
    }
    level[used] = {backoff, shorter};
    return static_cast<uint32_t>(length << State::kLengthShift | used++);
  }

  Context& context(uint32_t number) {
    return levels_[length_of(number)][number & State::kIndexMask];
  }

  // The context number of an n-gram's own words; makes the n-gram a context if it is none yet.
  template <typename Slot>  // Unigram or Ngram
  uint32_t own_context(Slot& slot, unsigned n) {
    if (length_of(slot.next) != n) slot.next = new_context(n, 0, 0);
    return slot.next;
  }

  // The n-gram `word` after a context of length n - 1; added if the file lacks it.
  Ngram& find_or_fill(unsigned n, uint32_t after, WordId word) {
    const uint64_t key = layout::ngram_key(after, word);
    const auto [slot, is_new] = builders_[n].insert(key);
    if (is_new) {
      slot->weight = no_extension(0);  // until weigh_filled()
      filled_.push_back({n, key});
      ++header_.filled[n - 1];
    }
    return *slot;
  }

  struct Pending {
    Words words;
    float log10, backoff;
    uint64_t line;
    uint32_t context;
  };

  void read_order(unsigned n) {
    builders_[n] = reserve(n, [](uint64_t count) { return TableBuilder<Ngram>(count); });
    if (n < order()) {
      levels_[n] = reserve(n, [](uint64_t count) { return ZeroedArray<Context>(count); });
    }
    header_.ngrams[n - 1] = reader_.count(n);
    std::array<Pending, kBatch> batch;
    size_t size = 0;
    ArpaNgram line;
    while (reader_.next(n, line)) {
      Pending& item = batch[size];
      for (unsigned i = 0; i < n; ++i) item.words[i] = id_of(line.words[i], n);
      item.log10 = line.log10;
      item.backoff = line.backoff;
      item.line = reader_.line_number();
      if (++size == kBatch) {
        insert(n, std::span(batch.data(), size));
        size = 0;
      }
      tick();
    }
    insert(n, std::span(batch.data(), size));
  }

  // All walks of a batch go down level by level together.
  void insert(unsigned n, std::span<Pending> batch) {
    for (Pending& item : batch) item.context = own_context(unigram_array_[item.words[0]], 1);
    for (unsigned k = 2; k <= n; ++k) {
      for (const Pending& item : batch) {
        __builtin_prefetch(builders_[k].home(layout::ngram_key(item.context, item.words[k - 1])),
                           1);
      }
      if (k == n) break;
      for (Pending& item : batch) {
        item.context = own_context(find_or_fill(k, item.context, item.words[k - 1]), k);
      }
    }
    for (const Pending& item : batch) {
      const auto [slot, is_new] =
          builders_[n].insert(layout::ngram_key(item.context, item.words[n - 1]));
      if (!is_new)
        throw reader_.error("the " + describe(item.words, n) + " is there twice", item.line);
      slot->weight = no_extension(item.log10);
      slot->next = n < order() && item.backoff != 0 ? new_context(n, item.backoff, 0) : 0;
    }
  }

  std::string describe(const Words& words, unsigned n) const {
    std::string text;
    for (unsigned i = 0; i < n; ++i) {
      if (i > 0) text += ' ';
      text.append(pool_.data() + offsets_[words[i]], offsets_[words[i] + 1] - offsets_[words[i]]);
    }
    return std::to_string(n) + "-gram " + shown(text);
  }

  // ---- suffixes ----

  // Gives every context its next shorter context and every other n-gram the context after it, and
  // marks n-grams that extend to the left. Contexts come first, at all orders: making a suffix a
  // context changes the context after other n-grams. Returns false if suffixes are missing
  // (missing_ has the n-grams); then call fill_in_suffixes() and link() again.
  bool link() {
    // A suffix that becomes a context after the pass over its own order needs another pass.
    for (uint64_t before = ~uint64_t{0}; before != all_contexts();) {
      before = all_contexts();
      missing_.clear();
      for (unsigned n = 2; n < order(); ++n) {
        for_each_with_suffix(
            n, [n](const Ngram& ngram) { return length_of(ngram.next) == n; },
            [this, n](Ngram& ngram, auto& suffix, uint32_t shorter) {
              context(ngram.next).shorter = context_of_suffix(suffix, n - 1, shorter);
            });
      }
    }
    for (unsigned n = 2; n <= order(); ++n) {
      for_each_with_suffix(
          n, [n](const Ngram& ngram) { return length_of(ngram.next) != n; },
          [](Ngram& ngram, auto& suffix, uint32_t) { ngram.next = suffix.next; });
    }
    return missing_.empty();
  }

  uint64_t all_contexts() const {
    return std::accumulate(std::begin(header_.contexts), std::end(header_.contexts), uint64_t{0});
  }

  // Calls f(n-gram, its suffix, the suffix's context) for all of order n that are `wanted`.
  template <typename Wanted, typename F>
  void for_each_with_suffix(unsigned n, Wanted&& wanted, F&& f) {
    struct Item {
      Ngram* ngram;
      uint32_t context;
      WordId word;
      uint64_t suffix_key;
    };
    std::array<Item, kBatch> batch;
    size_t size = 0;
    const auto flush = [&] {
      for (size_t i = 0; i < size; ++i) {
        Item& item = batch[i];
        item.context = context(item.context).shorter;
        item.suffix_key = layout::ngram_key(item.context, item.word);
        if (n > 2) __builtin_prefetch(builders_[n - 1].home(item.suffix_key));
      }
      for (size_t i = 0; i < size; ++i) {
        const Item& item = batch[i];
        if (n == 2) {
          Unigram& suffix = unigram_array_[item.word];
          mark_extended(suffix.weight);
          f(*item.ngram, suffix, 0U);
        } else {
          Ngram* suffix =
              length_of(item.context) == n - 2 ? builders_[n - 1].find(item.suffix_key) : nullptr;
          if (suffix == nullptr) {
            missing_.push_back({n, item.ngram->key});
          } else {
            mark_extended(suffix->weight);
            f(*item.ngram, *suffix, item.context);
          }
        }
      }
      size = 0;
    };
    Ngram* const slots = builders_[n].slots();
    for (uint64_t i = 0; i < builders_[n].capacity(); ++i) {
      if (i % 65536 == 0) poll_interrupt();
      if (slots[i].key == 0 || !wanted(slots[i])) continue;
      const uint64_t pair = layout::ngram_of_key(slots[i].key);
      const uint32_t number = static_cast<uint32_t>(pair >> 32);
      __builtin_prefetch(&context(number));
      batch[size++] = {&slots[i], number, static_cast<WordId>(pair), 0};
      if (size == kBatch) flush();
    }
    flush();
  }

  // The own context of an n-gram that is the suffix of a context, and its own suffixes likewise.
  uint32_t context_of_suffix(Unigram& suffix, unsigned, uint32_t) { return own_context(suffix, 1); }
  uint32_t context_of_suffix(Ngram& suffix, unsigned n, uint32_t prefix) {
    if (length_of(suffix.next) == n) return suffix.next;
    const WordId word = static_cast<WordId>(layout::ngram_of_key(suffix.key));
    const uint32_t shorter = context(prefix).shorter;
    uint32_t next = 0;
    if (n == 2) {
      next = own_context(unigram_array_[word], 1);
    } else if (Ngram* below = length_of(shorter) == n - 2
                                  ? builders_[n - 1].find(layout::ngram_key(shorter, word))
                                  : nullptr;
               below != nullptr) {
      next = context_of_suffix(*below, n - 1, shorter);
    }  // else this n-gram is missing itself, and this pass will add it to missing_
    return suffix.next = new_context(n, 0, next);
  }

  // Adds the suffixes that link() missed, and their suffixes. Rare (SRILM drops some n-grams but
  // keeps their extensions), so it may be slow: it needs the words of every context.
  void fill_in_suffixes() {
    std::vector<std::vector<uint64_t>> parent(order());  // [length][index]: context << 32 | word
    for (unsigned n = 1; n < order(); ++n) parent[n].resize(header_.contexts[n]);
    for (uint64_t id = 0; id < header_.words; ++id) {
      const uint32_t next = unigram_array_[id].next;
      if (next != 0) parent[1][next & State::kIndexMask] = id;
    }
    for (unsigned n = 2; n < order(); ++n) {
      const Ngram* slots = builders_[n].slots();
      for (uint64_t i = 0; i < builders_[n].capacity(); ++i) {
        if (slots[i].key != 0 && length_of(slots[i].next) == n) {
          parent[n][slots[i].next & State::kIndexMask] = layout::ngram_of_key(slots[i].key);
        }
      }
    }
    for (const Filled& item : std::exchange(missing_, {})) {
      Words words{};
      uint64_t pair = layout::ngram_of_key(item.key);
      for (unsigned i = item.n; i-- > 0;) {
        words[i] = static_cast<WordId>(pair);
        const uint32_t number = static_cast<uint32_t>(pair >> 32);
        if (i > 0) pair = parent[length_of(number)][number & State::kIndexMask];
      }
      fill_in(std::span(words).subspan(1, item.n - 1));
    }
  }

  // Adds the n-gram and all n-grams inside it, where they are missing.
  void fill_in(std::span<const WordId> words) {
    if (words.size() < 2) return;
    uint32_t at = own_context(unigram_array_[words[0]], 1);
    for (unsigned n = 2; n < words.size(); ++n) {
      at = own_context(find_or_fill(n, at, words[n - 1]), n);
    }
    find_or_fill(static_cast<unsigned>(words.size()), at, words.back());
    fill_in(words.first(words.size() - 1));
    fill_in(words.subspan(1));
  }

  // Added n-grams get their back-off probability, shorter n-grams first.
  void weigh_filled() {
    std::stable_sort(filled_.begin(), filled_.end(),
                     [](const Filled& a, const Filled& b) { return a.n < b.n; });
    for (const Filled& item : filled_) {
      const uint64_t pair = layout::ngram_of_key(item.key);
      const Context& prefix = context(static_cast<uint32_t>(pair >> 32));
      const WordId word = static_cast<WordId>(pair);
      const float lower =
          item.n == 2 ? unigram_array_[word].weight
                      : builders_[item.n - 1].find(layout::ngram_key(prefix.shorter, word))->weight;
      // Positive only in an improper model.
      const float log10 = std::min(0.0F, prefix.backoff + layout::log10_of(lower));
      float& weight = builders_[item.n].find(item.key)->weight;
      weight = std::copysign(log10, weight);
    }
  }

  void tick() {
    if (++read_ % 65536 == 0) {
      poll_interrupt();
      progress_(read_);
    }
  }

  unsigned order() const { return header_.order; }

  ArpaReader reader_;
  const std::function<void(uint64_t)>& progress_;
  uint64_t read_ = 0;
  layout::Header header_ = {};
  Arrays arrays_;
  std::string& pool_ = arrays_.pool;
  std::vector<uint32_t>& offsets_ = arrays_.offsets;
  TableBuilder<layout::Word>& word_table_ = arrays_.words;
  ZeroedArray<Unigram>& unigram_array_ = arrays_.unigrams;
  TableBuilder<Ngram> (&builders_)[kMaxOrder + 1] = arrays_.tables;
  ZeroedArray<Context> (&levels_)[kMaxOrder] = arrays_.levels;
  std::vector<Filled> filled_, missing_;
};

}  // namespace

std::shared_ptr<const Model> read_arpa(ByteSource& source,
                                       const std::function<void(uint64_t)>& progress) {
  return Builder(source, progress).build();
}

}  // namespace hopefear::lm
