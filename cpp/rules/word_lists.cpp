#include "rules/word_lists.hpp"

#include <algorithm>

#include "base/interrupt.hpp"
#include "rules/aligned_corpus.hpp"

namespace hopefear::rules {
namespace {

struct Counted {
  Word source, target;  // kNoWord: the entry lacks this side
  uint64_t count;
};

std::vector<CountedWord> most_frequent(std::vector<Counted>& all, const AlignedCorpus& corpus,
                                       size_t limit) {
  const auto text = [](const WordNumbers& words, Word word) {
    return word == kNoWord ? std::string_view() : words.word(word);
  };
  const auto before = [&](const Counted& a, const Counted& b) {
    if (a.count != b.count) return a.count > b.count;
    const int order =
        text(corpus.source_words(), a.source).compare(text(corpus.source_words(), b.source));
    if (order != 0) return order < 0;
    return text(corpus.target_words(), a.target) < text(corpus.target_words(), b.target);
  };
  const size_t kept = std::min(limit, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                    before);
  std::vector<CountedWord> result;
  for (size_t i = 0; i < kept; ++i) {
    const std::string source(text(corpus.source_words(), all[i].source));
    const std::string target(text(corpus.target_words(), all[i].target));
    if (source.empty()) {
      result.push_back({target, "", all[i].count});
    } else {
      result.push_back({source, target, all[i].count});
    }
  }
  return result;
}

}  // namespace

WordLists count_word_lists(ByteSource& source, ByteSource& target, ByteSource& alignment,
                           size_t limit, const std::string& scratch_directory,
                           const std::function<void(uint64_t)>& progress) {
  const AlignedCorpus corpus(source, target, alignment, scratch_directory, progress);
  // The lexicon counts alignment points; an unaligned word counts as linked to NULL.
  std::vector<Counted> pairs, inserted, deleted, source_words, target_words;
  corpus.lexicon().visit([&](Word f, Word e, uint64_t count) {
    (f == kNoWord ? inserted : e == kNoWord ? deleted : pairs).push_back({f, e, count});
  });
  for (size_t w = 0; w < corpus.source_words().size(); ++w) {
    source_words.push_back({static_cast<Word>(w), kNoWord, 0});
  }
  for (size_t w = 0; w < corpus.target_words().size(); ++w) {
    target_words.push_back({kNoWord, static_cast<Word>(w), 0});
  }
  for (size_t block = 0; block < corpus.blocks(); ++block) {
    poll_interrupt();
    corpus.read(block, [&](uint64_t, const SentencePair& pair) {
      for (const Word word : pair.source) ++source_words[word].count;
      for (const Word word : pair.target) ++target_words[word].count;
    });
  }
  return {most_frequent(pairs, corpus, limit), most_frequent(source_words, corpus, limit),
          most_frequent(target_words, corpus, limit), most_frequent(inserted, corpus, limit),
          most_frequent(deleted, corpus, limit)};
}

}  // namespace hopefear::rules
