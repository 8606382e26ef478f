// Reads a text grammar into a rule table. A line becomes a record "source symbols, end, line
// number, content"; sorting the records makes source sides with a common prefix contiguous, as the
// table requires. Words are hashed only once, when they are read, since a sentence's grammar must
// load in a few milliseconds.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "base/external_sorter.hpp"
#include "base/feature_name.hpp"
#include "base/interrupt.hpp"
#include "rules/aligned_corpus.hpp"
#include "rules/cdec_grammar.hpp"
#include "rules/table_writer.hpp"

namespace hopefear::rules {
namespace {

constexpr Symbol kEnd = 0xffffffff;  // after the last source symbol; no label has this number
constexpr size_t kMostSymbols = 255;
// Up to kAlwaysColumns features are all columns; of more, those of at least 1/kColumnShare of
// rules.
constexpr size_t kAlwaysColumns = 32;
constexpr uint64_t kColumnShare = 16;

// The label and number of a token in brackets: [X,1], [X], [1].
struct Bracket {
  std::string_view label;  // empty: none
  uint32_t number = 0;     // from 1; 0: none
};

bool is_number(std::string_view text, uint32_t& value) {
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}

// Returns false for an ordinary word.
bool parse_bracket(std::string_view token, Bracket& bracket) {
  if (token.size() < 3 || token.front() != '[' || token.back() != ']') return false;
  const std::string_view inner = token.substr(1, token.size() - 2);
  if (inner.find_first_of("[]") != std::string_view::npos) return false;
  const size_t comma = inner.rfind(',');
  if (comma == std::string_view::npos) {
    bracket = {inner, 0};
    return true;
  }
  bracket.label = inner.substr(0, comma);
  return is_number(inner.substr(comma + 1), bracket.number) && bracket.number > 0 &&
         !bracket.label.empty();
}

template <typename T>
void append_raw(std::string& bytes, const T* values, size_t count) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

template <typename T>
const char* take(const char* at, size_t count, std::vector<T>& values) {
  values.resize(count);
  if (count > 0) std::memcpy(values.data(), at, count * sizeof(T));
  return at + count * sizeof(T);
}

struct RecordHeader {  // of the content
  uint32_t label;
  uint16_t target, links, features, reserved = 0;
};

class GrammarReader {
 public:
  explicit GrammarReader(RecordSorter& sorter, const std::function<void(uint64_t)>& progress)
      : sorter_(sorter), progress_(progress) {}

  void read(ByteSource& source) {
    LineReader reader(source);
    reader_ = &reader;
    std::string_view line;
    while (reader.next_text(line)) {
      if (++lines_ % 4096 == 0) {
        poll_interrupt();
        progress_(lines_);
      }
      const size_t first = line.find_first_not_of(kBlanks);
      if (first == std::string_view::npos || line[first] == '#') continue;
      parse(line);
      sorter_.shard(lines_ % sorter_.shards()).add(record_);
    }
    progress_(lines_);
  }

  // All rules in the order of the table; the columns are known now.
  Columns columns() {
    const uint64_t rules = sorter_.records();
    const WordOrder order(features_);
    Columns columns;
    column_of_.assign(features_.size(), kNoWord);
    sparse_of_.assign(features_.size(), kNoWord);
    std::vector<Word> by_number(features_.size());  // in the order in which they came
    for (Word feature = 0; feature < features_.size(); ++feature) {
      const bool dense =
          features_.size() <= kAlwaysColumns || kColumnShare * feature_count_[feature] >= rules;
      if (!dense) continue;
      column_of_[feature] = static_cast<Word>(columns.names.size());
      columns.names.emplace_back(features_.word(feature));
    }
    for (Word feature = 0; feature < features_.size(); ++feature) {
      by_number[order.number[feature]] = feature;
    }
    for (const Word feature : by_number) {
      if (column_of_[feature] != kNoWord) continue;
      sparse_of_[feature] = static_cast<Word>(sparse_names_.size());
      sparse_names_.push_back(features_.word(feature));
    }
    return columns;
  }

  void write(TableWriter& table, size_t columns) {
    const WordOrder& source_order = source_order_.emplace(source_words_);
    const WordOrder& target_order = target_order_.emplace(target_words_);
    const WordOrder& label_order = label_order_.emplace(labels_);
    std::vector<Symbol> source, target;
    std::vector<Link> links;
    std::vector<SparseScore> features, sparse;
    std::vector<float> scores(columns);
    std::string_view record;
    uint64_t done = 0;
    while (sorter_.next(record)) {
      source.clear();
      const char* at = record.data();
      while (true) {
        Symbol symbol;
        std::memcpy(&symbol, at, sizeof(symbol));
        symbol = __builtin_bswap32(symbol);
        at += sizeof(symbol);
        if (symbol == kEnd) break;
        source.push_back(is_nonterminal(symbol)
                             ? kNonterminal | label_order.number[nonterminal(symbol)]
                             : source_order.number[symbol]);
      }
      at += 8;
      RecordHeader header;
      std::memcpy(&header, at, sizeof(header));
      at = take(at + sizeof(header), header.target, target);
      for (Symbol& symbol : target) {
        if (!is_nonterminal(symbol)) symbol = target_order.number[symbol];
      }
      at = take(at, header.links, links);
      take(at, header.features, features);
      std::fill(scores.begin(), scores.end(), 0.0f);
      sparse.clear();
      for (const SparseScore& feature : features) {
        if (column_of_[feature.feature] != kNoWord) {
          scores[column_of_[feature.feature]] = feature.value;
        } else {
          sparse.push_back({sparse_of_[feature.feature], feature.value});
        }
      }
      std::sort(sparse.begin(), sparse.end(),
                [](const SparseScore& a, const SparseScore& b) { return a.feature < b.feature; });
      RuleView view = {source,
                       target,
                       links,
                       scores,
                       {0, 0, 0},
                       kManySentences,
                       static_cast<uint16_t>(label_order.number[header.label])};
      view.sparse = sparse;
      table.add(view);
      if (++done % 4096 == 0) poll_interrupt();
    }
  }

  TableWriter::Names names() const {
    return {source_order_->words, target_order_->words, label_order_->words, sparse_names_};
  }
  size_t sparse_features() const { return sparse_names_.size(); }

 private:
  InputError wrong(const std::string& what) const {
    return InputError(reader_->place() + ": " + what);
  }

  void parse(std::string_view line) {
    std::string_view fields[5];
    size_t count = 0;
    for (std::string_view rest = line;;) {
      // A separator is a token of its own: "a|||b" is one word.
      size_t at = rest.find("|||");
      while (at != std::string_view::npos &&
             ((at > 0 && kBlanks.find(rest[at - 1]) == std::string_view::npos) ||
              (at + 3 < rest.size() && kBlanks.find(rest[at + 3]) == std::string_view::npos))) {
        at = rest.find("|||", at + 3);
      }
      if (count == 5) throw wrong("more than 5 fields; expected " + kExpected);
      fields[count++] = rest.substr(0, at);
      if (at == std::string_view::npos) break;
      rest.remove_prefix(at + 3);
    }
    if (count < 3) {
      throw wrong(std::to_string(count) + (count == 1 ? " field" : " fields") + ", expected " +
                  kExpected + "; give a grammar of cdec or Joshua");
    }
    record_.clear();
    const uint32_t label = parse_label(fields[0]);
    parse_source(fields[1]);
    parse_target(fields[2]);
    parse_features(fields[3]);
    links_.clear();
    if (!fields[4].empty()) parse_links(fields[4]);

    append_big_endian(kEnd);
    append_big_endian(static_cast<uint32_t>(lines_ >> 32));
    append_big_endian(static_cast<uint32_t>(lines_));
    const RecordHeader header = {label, static_cast<uint16_t>(target_.size()),
                                 static_cast<uint16_t>(links_.size()),
                                 static_cast<uint16_t>(rule_features_.size())};
    append_raw(record_, &header, 1);
    append_raw(record_, target_.data(), target_.size());
    append_raw(record_, links_.data(), links_.size());
    append_raw(record_, rule_features_.data(), rule_features_.size());
  }

  void append_big_endian(uint32_t value) {
    value = __builtin_bswap32(value);
    append_raw(record_, &value, 1);
  }

  uint32_t add_label(std::string_view label) {
    const Word number = labels_.add(label);
    if (number >= kNoLabel) throw wrong("more than 65,534 different labels; use fewer");
    return number;
  }

  uint32_t parse_label(std::string_view field) {
    Bracket bracket;
    const size_t first = field.find_first_not_of(kBlanks);
    field.remove_prefix(std::min(first, field.size()));
    field = field.substr(0, field.find_last_not_of(kBlanks) + 1);
    bool good = field.find_first_of(kBlanks) == std::string_view::npos;
    if (good && !parse_bracket(field, bracket)) {
      // A comma may be part of a label here, as in [$,].
      good = field.size() > 2 && field.front() == '[' && field.back() == ']' &&
             field.find_first_of("[]", 1) == field.size() - 1;
      if (good) bracket = {field.substr(1, field.size() - 2), 0};
    }
    if (!good || bracket.number != 0) {
      throw wrong("left-hand side " + shown(field) + ", expected a label in brackets such as [X]");
    }
    return add_label(bracket.label);
  }

  void parse_source(std::string_view field) {
    numbers_.clear();
    source_size_ = 0;
    for_each_word(field, kBlanks, [&](std::string_view token) {
      if (++source_size_ > kMostSymbols) throw too_long("source");
      Bracket bracket;
      if (!parse_bracket(token, bracket)) {
        append_big_endian(source_words_.add(token));
        return;
      }
      append_big_endian(kNonterminal | add_label(bracket.label));
      const uint32_t number =
          bracket.number > 0 ? bracket.number : static_cast<uint32_t>(numbers_.size() + 1);
      if (std::find(numbers_.begin(), numbers_.end(), number) != numbers_.end()) {
        throw wrong("nonterminal " + std::to_string(number) +
                    " comes twice on the source side, expected each number once");
      }
      numbers_.push_back(number);
    });
    if (source_size_ == 0) throw wrong("the source side is empty, expected words or nonterminals");
  }

  void parse_target(std::string_view field) {
    target_.clear();
    size_t used = 0;
    for_each_word(field, kBlanks, [&](std::string_view token) {
      if (target_.size() == kMostSymbols) throw too_long("target");
      Bracket bracket;
      if (!parse_bracket(token, bracket)) {
        target_.push_back(target_words_.add(token));
        return;
      }
      uint32_t number = bracket.number;
      if (number == 0 && !is_number(bracket.label, number)) {
        if (labels_.find(bracket.label) == kNoWord) {
          target_.push_back(target_words_.add(token));  // a word such as [sic]
          return;
        }
        throw wrong(shown(token) +
                    " on the target side, expected a nonterminal with its number "
                    "such as [1] or [X,1]");
      }
      const size_t place = static_cast<size_t>(std::find(numbers_.begin(), numbers_.end(), number) -
                                               numbers_.begin());
      if (place == numbers_.size()) {
        throw wrong(shown(token) + " on the target side, but the source side has no nonterminal " +
                    std::to_string(number) + "; expected each of its " +
                    std::to_string(numbers_.size()) + " once");
      }
      const Symbol symbol = kNonterminal | static_cast<Symbol>(place);
      if (std::find(target_.begin(), target_.end(), symbol) != target_.end()) {
        throw wrong(shown(token) + " comes twice on the target side, expected it once");
      }
      target_.push_back(symbol);
      ++used;
    });
    if (used != numbers_.size()) {
      throw wrong("the source side has " + std::to_string(numbers_.size()) +
                  " nonterminals, the target side " + std::to_string(used) +
                  "; expected the same ones");
    }
  }

  InputError too_long(const char* side) const {
    return wrong(std::string("the ") + side + " side has more than " +
                 std::to_string(kMostSymbols) + " symbols; drop the line");
  }

  void parse_features(std::string_view field) {
    rule_features_.clear();
    uint32_t nameless = 0;
    for_each_word(field, kBlanks, [&](std::string_view token) {
      const size_t equals = token.rfind('=');
      std::string_view name = token.substr(0, equals), digits = token;
      std::string made;
      if (equals == std::string_view::npos) {
        made = "PhraseModel_" + std::to_string(nameless++);
        name = made;
      } else {
        digits = token.substr(equals + 1);
      }
      if (digits.starts_with('+')) digits.remove_prefix(1);
      float value = 0;
      const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      const bool tiny = end.ec == std::errc::result_out_of_range;  // or huge
      if ((end.ec != std::errc() && !tiny) || end.ptr != digits.data() + digits.size() ||
          name.empty() || !std::isfinite(value) || digits.empty()) {
        throw wrong("feature " + shown(token) + ", expected name=value with a finite number");
      }
      if (tiny) value = out_of_range(digits, token);
      // Most grammars have the same features in the same order in every rule.
      const size_t at = rule_features_.size();
      Word feature;
      if (at < last_names_.size() && features_.word(last_names_[at]) == name) {
        feature = last_names_[at];
      } else {
        feature = features_.add(name);
        if (feature == feature_count_.size()) {
          if (!is_feature_name(name)) {
            throw wrong("feature name " + shown(name) + " has control characters; rename it");
          }
          feature_count_.push_back(0);
          last_rule_.push_back(0);
        }
        if (last_names_.size() <= at) last_names_.resize(at + 1, feature);
        last_names_[at] = feature;
      }
      if (last_rule_[feature] == lines_) {
        throw wrong("feature " + shown(name) + " comes twice, expected each name once");
      }
      last_rule_[feature] = lines_;
      if (at == 65535) throw wrong("more than 65,535 features; drop some");
      ++feature_count_[feature];
      rule_features_.push_back({feature, value});
    });
  }

  // A number outside of the range of float: underflow or overflow.
  float out_of_range(std::string_view digits, std::string_view token) const {
    const double value = std::strtod(std::string(digits).c_str(), nullptr);
    if (std::abs(value) > 1) {
      throw wrong("feature " + shown(token) + " is too large, expected less than 3e38");
    }
    return static_cast<float>(value);
  }

  void parse_links(std::string_view field) {
    parse_points(field, source_size_, target_.size(), reader_->place(), points_);
    for (const Point& point : points_) {
      links_.push_back({static_cast<uint8_t>(point.source), static_cast<uint8_t>(point.target)});
    }
    std::sort(links_.begin(), links_.end(), [](const Link& a, const Link& b) {
      return a.target != b.target ? a.target < b.target : a.source < b.source;
    });
  }

  inline static const std::string kExpected =
      "'[X] ||| source ||| target ||| features ||| alignment'";
  RecordSorter& sorter_;
  const std::function<void(uint64_t)>& progress_;
  const LineReader* reader_ = nullptr;
  WordNumbers source_words_, target_words_, labels_, features_;
  std::vector<uint64_t> feature_count_;  // number of rules with each feature
  std::vector<uint64_t> last_rule_;      // line of each feature's last rule, to find repetitions
  std::vector<Word> last_names_;         // the last rules' features, by position in the line
  std::vector<Word> column_of_, sparse_of_;
  std::vector<std::string_view> sparse_names_;
  std::optional<WordOrder> source_order_, target_order_, label_order_;
  uint64_t lines_ = 0;
  std::string record_;
  size_t source_size_ = 0;
  std::vector<uint32_t> numbers_;  // of the source side's nonterminals
  std::vector<Symbol> target_;
  std::vector<SparseScore> rule_features_;
  std::vector<Point> points_;
  std::vector<Link> links_;
};

}  // namespace

CdecImportReport read_cdec(const std::vector<ByteSource*>& grammars, const CdecImport& options,
                           const std::string& path, std::string_view info,
                           const std::function<void(uint64_t)>& progress) {
  RecordSorter sorter(options.memory / 2, options.threads, options.scratch_directory);
  GrammarReader reader(sorter, progress);
  for (ByteSource* grammar : grammars) reader.read(*grammar);
  sorter.sort(options.threads);
  const Columns columns = reader.columns();
  TableWriter table(columns, options.scratch_directory);
  reader.write(table, columns.size());
  table.finish(path, reader.names(), info);
  return {table.rules(), table.layout().source_sides, columns.size(), reader.sparse_features()};
}

RuleTable read_cdec(const std::vector<ByteSource*>& grammars, std::string_view info) {
  constexpr uint64_t kMemory = uint64_t{1} << 30;  // a larger grammar is spilled, which may be slow
  RecordSorter sorter(kMemory, 1, "");
  const std::function<void(uint64_t)> quiet = [](uint64_t) {};
  GrammarReader reader(sorter, quiet);
  for (ByteSource* grammar : grammars) reader.read(*grammar);
  sorter.sort(1);
  const Columns columns = reader.columns();
  TableWriter table(columns, "");
  reader.write(table, columns.size());
  return table.finish_in_memory(grammars.empty() ? "grammar" : grammars[0]->name(), reader.names(),
                                info);
}

}  // namespace hopefear::rules
