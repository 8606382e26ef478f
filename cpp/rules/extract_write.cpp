// The last step of RuleExtraction: computes scores from counts and writes the table.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/interrupt.hpp"
#include "rules/extract.hpp"
#include "rules/good_turing.hpp"
#include "rules/ranked_sink.hpp"
#include "rules/rule_counts.hpp"
#include "rules/significance.hpp"
#include "rules/table_writer.hpp"

namespace hopefear::rules {
namespace {

// (count + 0.5) / (total + 1.5) for each orientation, as logs.
void add_orientations(const std::array<uint32_t, 3>& counts, std::vector<float>& scores) {
  const double total = 1.5 + counts[0] + counts[1] + counts[2];
  for (const uint32_t count : counts) {
    scores.push_back(static_cast<float>(std::log((count + 0.5) / total)));
  }
}

// Converts the words of a side to the collector's numbers, which the lexicon uses.
void collected(std::span<const Symbol> side, const std::vector<Word>& order,
               std::vector<Word>& out) {
  out.clear();
  for (const Symbol symbol : side) {
    out.push_back(is_nonterminal(symbol) ? symbol : order[symbol]);
  }
}

}  // namespace

// The pairs of one source side with their target counts, in order.
class RuleExtraction::PairReader {
 public:
  PairReader(ScratchStream& pairs, RecordSorter& target_counts, uint64_t total)
      : pairs_(pairs), target_counts_(target_counts), left_(total) {
    pairs_.rewind();
    read();
  }
  struct Counted {
    RuleCounts pair;
    double target_count;
  };
  // Fills the front of `group`, whose size only grows; returns the number of pairs, 0 at the end.
  size_t next(std::vector<Counted>& group) {
    size_t n = 0;
    while (has_next_ && (n == 0 || next_.pair.source == group[0].pair.source)) {
      if (n == group.size()) group.emplace_back();
      std::swap(group[n++], next_);
      read();
    }
    return n;
  }

 private:
  void read() {
    has_next_ = left_ > 0;
    if (!has_next_) return;
    --left_;
    next_.pair.read(pairs_);
    std::string_view record;
    if (!target_counts_.next(record)) throw std::logic_error("a pair without target count");
    uint64_t count = 0;
    for (size_t i = 8; i < 16; ++i) count = count << 8 | static_cast<unsigned char>(record[i]);
    next_.target_count = std::bit_cast<double>(count);
  }
  ScratchStream& pairs_;
  RecordSorter& target_counts_;
  uint64_t left_;
  Counted next_;
  bool has_next_ = false;
};

ExtractReport RuleExtraction::write(const std::string& path, std::string_view info, RuleSink* text,
                                    const Progress& progress) {
  begin_step(3);
  ExtractReport report;
  report.sentences = corpus_->sentences();
  report.occurrences = occurrences_->records();
  report.pairs = pairs_;
  std::unique_ptr<SignificanceTest> test;
  if (!options_.hierarchical() && options_.significance != ExtractOptions::Significance::off) {
    test = std::make_unique<SignificanceTest>(*corpus_, *source_codec_, *target_codec_, options_);
    report.significance = test->threshold();
  }
  number_labels();
  report.truncated = truncated_;
  report.labels = label_names_.size();
  report.trees = trees_ == nullptr ? 0 : trees_->trees();
  const GoodTuring discounted(count_types_);
  const Columns names = columns();
  TableWriter table(names, options_.scratch_directory);
  RankedSink ranked(table, names.translation(), 2, options_.limit);
  const Lexicon& lexicon = corpus_->lexicon();
  PairReader reader(*pair_stream_, *target_counts_, pairs_);
  std::vector<PairReader::Counted> group;
  std::vector<Word> source, target;  // numbers of the collectors, which the lexicon knows
  std::vector<Symbol> table_source;
  std::vector<float> scores;
  uint64_t done = 0;
  for (size_t n = reader.next(group); n > 0; n = reader.next(group)) {
    double source_count = 0;
    uint64_t source_occurrences = 0;
    for (size_t i = 0; i < n; ++i) {
      source_count += group[i].pair.joint;
      source_occurrences += group[i].pair.occurrences;
    }
    collected(group[0].pair.source, source_codec_->order(), source);
    const bool gaps = std::ranges::any_of(source, is_nonterminal);
    const double least =
        gaps ? std::max(options_.min_count, options_.hiero.min_count) : options_.min_count;
    if (test != nullptr) test->set_source(group[0].pair.source);
    for (size_t i = 0; i < n; ++i) {
      RuleCounts& pair = group[i].pair;
      const double joint = pair.joint;
      if (pair.occurrences < least) {
        ++report.below_min_count;
        continue;
      }
      if (test != nullptr && !test->keep(pair.target)) {
        ++report.not_significant;
        continue;
      }
      collected(pair.target, target_codec_->order(), target);
      scores.clear();
      for (const double score :
           {std::log(joint / group[i].target_count),
            lexicon.source_weight(source, target, pair.source_links),
            std::log(joint / source_count), lexicon.target_weight(source, target, pair.links)}) {
        scores.push_back(static_cast<float>(score));
      }
      if (options_.hierarchical()) {
        for (const uint64_t seen : {source_occurrences, uint64_t{pair.occurrences}}) {
          scores.push_back(static_cast<float>(std::log1p(static_cast<double>(seen))));
        }
        scores.push_back(source_occurrences == 1 ? 1 : 0);
        scores.push_back(pair.occurrences == 1 ? 1 : 0);
        if (options_.kind == ExtractOptions::Kind::tree) {
          // Counts are fractions in some modes: the discount is that of the rounded count.
          const auto rounded = static_cast<uint64_t>(std::max<long long>(1, std::llround(joint)));
          const double discount = discounted(rounded) / static_cast<double>(rounded);
          const double share = joint * discount / root_counts_[pair.label];
          scores.push_back(static_cast<float>(std::log(share)));
        }
      } else {
        if (options_.reordering >= 3) add_orientations(pair.backward, scores);
        if (options_.reordering == 6) add_orientations(pair.forward, scores);
      }
      auto label = static_cast<uint16_t>(options_.hierarchical() ? 0 : kNoLabel);
      std::span<const Symbol> sides = pair.source;
      if (options_.labelled()) {
        label = static_cast<uint16_t>(label_numbers_[pair.label]);
        table_source.clear();
        for (const Symbol symbol : pair.source) {
          table_source.push_back(
              is_nonterminal(symbol) ? kNonterminal | label_numbers_[nonterminal(symbol)] : symbol);
        }
        sides = table_source;
        for (uint16_t& token : pair.fragment) {
          if (token < kFragmentClose) token = static_cast<uint16_t>(label_numbers_[token]);
        }
      }
      const RuleView view = {sides,
                             pair.target,
                             pair.links,
                             scores,
                             {static_cast<float>(group[i].target_count),
                              static_cast<float>(source_count), static_cast<float>(joint)},
                             pair.sentence,
                             label,
                             0,
                             0,
                             {},
                             pair.fragment};
      if (text != nullptr) text->add(view);
      ranked.add(view);
    }
    if ((done + n) / 4096 != done / 4096) {
      poll_interrupt();
      progress(done + n);
    }
    done += n;
  }
  ranked.flush();
  const std::vector<std::string_view> labels(label_names_.begin(), label_names_.end());
  table.finish(path, {source_codec_->texts(), target_codec_->texts(), labels}, info);
  progress(done);
  report.over_limit = ranked.dropped();
  report.rules = table.rules();
  report.source_sides = table.layout().source_sides;
  report.one_sentence = table.layout().one_sentence;
  report.spilled = occurrences_->spilled() + targets_->spilled() + target_counts_->spilled();
  return report;
}

}  // namespace hopefear::rules
