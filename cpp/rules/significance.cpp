#include "rules/significance.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace hopefear::rules {
namespace {

double log_choose(uint64_t n, uint64_t k) {
  const auto log_factorial = [](uint64_t x) { return std::lgamma(static_cast<double>(x) + 1); };
  return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

// The size of the intersection of two ascending lists, O(small * log large).
uint64_t common(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  const std::vector<uint32_t>& small = a.size() < b.size() ? a : b;
  const std::vector<uint32_t>& large = a.size() < b.size() ? b : a;
  uint64_t n = 0;
  auto at = large.begin();
  if (large.size() / 16 > small.size()) {
    for (const uint32_t x : small) {
      at = std::lower_bound(at, large.end(), x);
      if (at == large.end()) break;
      n += *at == x;
    }
    return n;
  }
  for (const uint32_t x : small) {
    while (at != large.end() && *at < x) ++at;
    if (at == large.end()) break;
    n += *at == x;
  }
  return n;
}

// Pairs that occur once, with words that occur once, have -ln p = alpha = ln N; a slightly larger
// threshold drops all of them, a slightly smaller one keeps them (Johnson et al. 2007, section 3.1:
// alpha + epsilon, alpha - epsilon).
double threshold_of(const ExtractOptions& options, uint64_t sentences) {
  constexpr double kEpsilon = 1e-3;
  const double alpha = std::log(static_cast<double>(std::max<uint64_t>(sentences, 1)));
  switch (options.significance) {
    case ExtractOptions::Significance::alpha_plus:
      return alpha + kEpsilon;
    case ExtractOptions::Significance::alpha_minus:
      return alpha - kEpsilon;
    default:
      return options.significance_value;
  }
}

}  // namespace

double fisher(uint64_t joint, uint64_t source, uint64_t target, uint64_t sentences) {
  const uint64_t most = std::min(source, target);
  // The hypergeometric probability of `joint` co-occurrences; the further terms follow by their
  // ratio.
  const double first = log_choose(source, joint) + log_choose(sentences - source, target - joint) -
                       log_choose(sentences, target);
  double sum = 1, term = 1;
  for (uint64_t k = joint; k < most; ++k) {
    term *= static_cast<double>(source - k) * static_cast<double>(target - k) /
            (static_cast<double>(k + 1) * static_cast<double>(sentences + k + 1 - source - target));
    sum += term;
    // Terms may grow before they fall; stops after their peak once they are negligible.
    if (term < 1e-17 * sum) break;
  }
  return std::max(0.0, -(first + std::log(sum)));
}

PhraseIndex::PhraseIndex(const AlignedCorpus& corpus, bool target_side, const PhraseCodec& codec,
                         uint32_t max_length) {
  std::vector<Word> number(codec.order().size());  // collector -> table
  for (Word i = 0; i < number.size(); ++i) number[codec.order()[i]] = i;
  for (size_t block = 0; block < corpus.blocks(); ++block) {
    poll_interrupt();
    corpus.read(block, [&](uint64_t sentence, const SentencePair& pair) {
      const std::vector<Word>& side = target_side ? pair.target : pair.source;
      for (const Word word : side) words_.push_back(number[word]);
      words_.push_back(kNoWord);
      sentence_of_.resize(words_.size(), static_cast<uint32_t>(sentence));
    });
  }
  if (words_.size() >= kNoWord) {
    throw InputError(
        "significance filtering takes texts of up to 4,294,967,294 words; "
        "filter by --min-count instead");
  }
  for (uint32_t i = 0; i < words_.size(); ++i) {
    if (words_[i] != kNoWord) suffixes_.push_back(i);
  }
  std::sort(suffixes_.begin(), suffixes_.end(), [&](uint32_t a, uint32_t b) {
    for (uint32_t i = 0; i < max_length; ++i) {
      const Word x = words_[a + i], y = words_[b + i];
      if (x != y) return x < y;
      if (x == kNoWord) break;
    }
    return a < b;
  });
}

const std::vector<uint32_t>& PhraseIndex::sentences(std::span<const Word> phrase) {
  // <0, 0, >0: the suffix at this index sorts before, begins with, sorts after the phrase.
  const auto order = [&](uint32_t suffix) {
    for (size_t i = 0; i < phrase.size(); ++i) {
      const Word word = words_[suffix + i];  // differs at the sentence's end at the latest
      if (word != phrase[i]) return word < phrase[i] ? -1 : 1;
    }
    return 0;
  };
  const auto begin = std::partition_point(suffixes_.begin(), suffixes_.end(),
                                          [&](uint32_t suffix) { return order(suffix) < 0; });
  const auto end = std::partition_point(begin, suffixes_.end(),
                                        [&](uint32_t suffix) { return order(suffix) == 0; });
  const auto collect = [&](std::vector<uint32_t>& out) {
    out.clear();
    for (auto at = begin; at != end; ++at) out.push_back(sentence_of_[*at]);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
  };
  if (end - begin < 256) {
    collect(found_);
    return found_;
  }
  // Phrases of the same suffixes have the same sentences.
  const uint64_t key = static_cast<uint64_t>(begin - suffixes_.begin()) << 32 |
                       static_cast<uint64_t>(end - suffixes_.begin());
  std::vector<uint32_t>& kept = frequent_[key];
  if (kept.empty()) collect(kept);
  return kept;
}

SignificanceTest::SignificanceTest(const AlignedCorpus& corpus, const PhraseCodec& source_codec,
                                   const PhraseCodec& target_codec, const ExtractOptions& options)
    : sentences_(corpus.sentences()),
      threshold_(threshold_of(options, corpus.sentences())),
      source_(corpus, false, source_codec, options.max_length),
      target_(corpus, true, target_codec, options.max_length) {}

void SignificanceTest::set_source(std::span<const Word> source) {
  source_sentences_ = source_.sentences(source);
}

bool SignificanceTest::keep(std::span<const Word> target) {
  const std::vector<uint32_t>& target_sentences = target_.sentences(target);
  const uint64_t joint = common(source_sentences_, target_sentences);
  return fisher(joint, source_sentences_.size(), target_sentences.size(), sentences_) >= threshold_;
}

}  // namespace hopefear::rules
