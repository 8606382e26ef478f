#include "rules/lexicon.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tuple>

namespace hopefear::rules {
namespace {

constexpr Word kNotWord = 0x80000000;  // and above: nonterminals

void count(std::vector<uint64_t>& totals, uint64_t& null, Word word) {
  if (word == kNoWord) {
    ++null;
    return;
  }
  if (word >= totals.size()) totals.resize(std::max<size_t>(word + 1, 2 * totals.size()));
  ++totals[word];
}

// A product of probabilities as a log. One logarithm for all factors, as long as the product does
// not underflow: a phrase may have a hundred words.
class LogProduct {
 public:
  void multiply(double probability) {
    product_ *= probability;
    if (product_ > 1e-200) return;
    log_ += std::log(product_);
    product_ = 1;
  }
  double log() const { return log_ + std::log(product_); }

 private:
  double product_ = 1, log_ = 0;
};

}  // namespace

void Lexicon::add(Word source, Word target) {
  ++counts_.try_emplace(key_of(source, target)).first;
  count(source_total_, source_null_, source);
  count(target_total_, target_null_, target);
}

double Lexicon::target_given_source(Word source, Word target) const {
  const uint64_t joint = this->joint(source, target);
  if (joint == 0) return 1;
  const uint64_t total = source == kNoWord ? source_null_ : source_total_[source];
  return static_cast<double>(joint) / static_cast<double>(total);
}

double Lexicon::source_given_target(Word source, Word target) const {
  const uint64_t joint = this->joint(source, target);
  if (joint == 0) return 1;
  const uint64_t total = target == kNoWord ? target_null_ : target_total_[target];
  return static_cast<double>(joint) / static_cast<double>(total);
}

double Lexicon::target_weight(std::span<const Word> source, std::span<const Word> target,
                              std::span<const Link> links) const {
  LogProduct product;
  for (size_t t = 0; t < target.size(); ++t) {
    if (target[t] >= kNotWord) continue;
    double sum = 0;
    int linked = 0;
    for (const Link& link : links) {
      if (link.target != t) continue;
      sum += target_given_source(source[link.source], target[t]);
      ++linked;
    }
    product.multiply(linked > 0 ? sum / linked : target_given_source(kNoWord, target[t]));
  }
  return product.log();
}

double Lexicon::source_weight(std::span<const Word> source, std::span<const Word> target,
                              std::span<const Link> links) const {
  LogProduct product;
  for (size_t s = 0; s < source.size(); ++s) {
    if (source[s] >= kNotWord) continue;
    double sum = 0;
    int linked = 0;
    for (const Link& link : links) {
      if (link.source != s) continue;
      sum += source_given_target(source[s], target[link.target]);
      ++linked;
    }
    product.multiply(linked > 0 ? sum / linked : source_given_target(source[s], kNoWord));
  }
  return product.log();
}

void Lexicon::write(ByteSink& sink, bool predict_target, const WordNumbers& source,
                    const WordNumbers& target) const {
  struct Line {
    std::string_view given, predicted;
    double probability;
  };
  const auto name = [](const WordNumbers& words, Word word) {
    return word == kNoWord ? std::string_view("NULL") : words.word(word);
  };
  std::vector<Line> lines;
  lines.reserve(size());
  visit([&](Word f, Word e, uint64_t) {
    if (predict_target) {
      lines.push_back({name(source, f), name(target, e), target_given_source(f, e)});
    } else {
      lines.push_back({name(target, e), name(source, f), source_given_target(f, e)});
    }
  });
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return std::tie(a.given, a.predicted, a.probability) <
           std::tie(b.given, b.predicted, b.probability);
  });
  BufferedSink out(sink);
  char number[32];
  for (const Line& line : lines) {
    out.write(line.predicted);
    out.put(' ');
    out.write(line.given);
    const int n = std::snprintf(number, sizeof(number), " %.7f\n", line.probability);
    out.write({number, static_cast<size_t>(n)});
  }
  out.flush();
}

uint64_t Lexicon::bytes() const {
  return counts_.bytes() + (source_total_.capacity() + target_total_.capacity()) * sizeof(uint64_t);
}

}  // namespace hopefear::rules
