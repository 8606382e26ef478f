// Reads text tables into a rule table. Every line is checked when it is read, while its number is
// known, and becomes a record ("source ||| target ||| ", kind, content); the sorted records are
// merged pair by pair.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "base/external_sorter.hpp"
#include "base/interrupt.hpp"
#include "rules/aligned_corpus.hpp"
#include "rules/extract.hpp"
#include "rules/moses_table.hpp"
#include "rules/ranked_sink.hpp"
#include "rules/table_writer.hpp"

namespace hopefear::rules {
namespace {

constexpr char kReorderingLine = '0', kPhraseLine = '1';  // sorts before the phrase line
constexpr float kFloor = -100;
// The target of a line that is valid for all targets of its source; sorts before them.
constexpr std::string_view kAnyTarget("\0", 1);

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t at = line.find("|||");
    fields.push_back(line.substr(0, at));
    if (at == std::string_view::npos) return fields;
    line.remove_prefix(at + 3);
  }
}

// Parses a number of at least 0 in the range of float; -1 if it is not one, 0 for underflow.
double number_of(std::string_view text) {
  double value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec == std::errc::result_out_of_range) {
    value = std::strtod(std::string(text).c_str(), nullptr);
  } else if (end.ec != std::errc()) {
    return -1;
  }
  const bool good = end.ptr == text.data() + text.size() && value >= 0 &&
                    value <= std::numeric_limits<float>::max();
  return good ? value : -1;
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

template <typename T>
void append_raw(std::string& bytes, const std::vector<T>& values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

class Importer {
 public:
  Importer(const MosesImport& options, const std::function<void(uint64_t)>& progress)
      : options_(options),
        progress_(progress),
        sorter_(options.memory / 2, options.threads, options.scratch_directory) {}

  void read_phrases(ByteSource& source) {
    read(source, [&](std::span<const std::string_view> fields, const std::string& place) -> bool {
      if (fields.size() < 3) {
        throw InputError(place + ": expected 'source ||| target ||| scores …', found " +
                         std::to_string(fields.size()) + " fields; give a Moses phrase table");
      }
      const size_t sizes[2] = {begin_record(fields, place, kPhraseLine), target_size_};
      if (sizes[0] > 255 || sizes[1] > 255) {
        throw InputError(place + ": a phrase of " + std::to_string(std::max(sizes[0], sizes[1])) +
                         " words; expected at most 255, filter the table");
      }
      if (fields.size() > 5 && fields[5].find_first_not_of(kBlanks) != std::string_view::npos) {
        throw InputError(place + ": sparse features " + shown(trim(fields[5])) +
                         " in the sixth field, which would be lost; remove the field");
      }
      if (sizes[0] > options_.longest_source) {
        ++too_long_;
        return false;
      }
      parse_scores(fields[2], place, columns_);
      points_.clear();
      if (fields.size() > 3) parse_points(fields[3], sizes[0], sizes[1], place, points_);
      links_.clear();
      for (const Point& point : points_) {
        links_.push_back({static_cast<uint8_t>(point.source), static_cast<uint8_t>(point.target)});
      }
      std::sort(links_.begin(), links_.end(), [](const Link& a, const Link& b) {
        return a.target != b.target ? a.target < b.target : a.source < b.source;
      });
      std::vector<float> counts;
      if (fields.size() > 4) {
        for_each_word(fields[4], kBlanks, [&](std::string_view word) {
          const double count = number_of(word);
          if (count < 0) {
            throw InputError(place + ": " + shown(word) +
                             " is no count; expected numbers c(e) c(f) c(f,e) in the fifth field");
          }
          counts.push_back(static_cast<float>(count));
        });
      }
      counts.resize(3);
      const uint16_t links = static_cast<uint16_t>(links_.size());
      record_.append(reinterpret_cast<const char*>(&links), sizeof(links));
      append_raw(record_, links_);
      append_raw(record_, scores_);
      append_raw(record_, counts);
      return true;
    });
  }

  void read_reordering(ByteSource& source) {
    const bool by_source = options_.reordering_by_source;
    const size_t named = options_.reordering_columns.size();
    read(source, [&](std::span<const std::string_view> fields, const std::string& place) -> bool {
      if (fields.size() != (by_source ? 2 : 3)) {
        throw InputError(place + ": expected '" +
                         (by_source ? "source ||| scores" : "source ||| target ||| scores") +
                         "', found " + std::to_string(fields.size()) +
                         " fields; a reordering table has a target phrase if its type has fe");
      }
      std::vector<std::string_view> sides(fields.begin(), fields.end() - 1);
      if (by_source) sides.push_back(kAnyTarget);
      begin_record(sides, place, kReorderingLine);
      parse_scores(fields.back(), place, reordering_columns_);
      const size_t found = reordering_columns_;
      if (named > 0 ? found != named : found != 3 && found != 6) {
        throw InputError(place + ": expected " +
                         (named > 0 ? std::to_string(named) + " scores by the model's type"
                                    : "3 scores (msd-backward) or 6 (msd-bidirectional)") +
                         ", found " + std::to_string(found) + "; give the table of this type");
      }
      append_raw(record_, scores_);
      return true;
    });
  }

  MosesImportReport write(const std::string& path, std::string_view info) {
    Columns columns = names();
    TableWriter table(columns, options_.scratch_directory);
    const auto named = std::find(columns.names.begin(), columns.names.end(), "p(e|f)");
    size_t best = static_cast<size_t>(named - columns.names.begin());
    if (best >= columns.translation()) best = columns.translation() == 4 ? 2 : 0;
    RankedSink ranked(table, columns.translation(), best, options_.limit);
    const WordOrder source_order(source_words_), target_order(target_words_);
    MosesImportReport report;
    std::vector<Symbol> source, target;
    std::vector<float> scores(columns.size()), reordering;
    std::string reordering_key;
    std::string_view record;
    sorter_.sort(options_.threads);
    uint64_t done = 0;
    while (sorter_.next(record)) {
      // The key ends after the second "||| ".
      const size_t middle = record.find("||| ");
      const size_t end = record.find("||| ", middle + 4) + 4;
      const std::string_view key = record.substr(0, end);
      const std::string_view content = record.substr(end + 9);
      if (record[end] == kReorderingLine) {
        // Repeated: the last one is used, as in Moses.
        reordering_key = key.substr(0, options_.reordering_by_source ? middle : end);
        reordering.resize(reordering_columns_);
        std::memcpy(reordering.data(), content.data(), reordering_columns_ * sizeof(float));
        continue;
      }
      decode(key.substr(0, middle), source_words_, source_order.number, source);
      decode(key.substr(middle + 4, end - 8 - middle), target_words_, target_order.number, target);
      uint16_t link_count;
      std::memcpy(&link_count, content.data(), 2);
      links_.resize(link_count);
      const char* at = content.data() + 2;
      if (link_count > 0) std::memcpy(links_.data(), at, link_count * sizeof(Link));
      at += link_count * sizeof(Link);
      std::memcpy(scores.data(), at, columns_ * sizeof(float));
      at += columns_ * sizeof(float);
      Counts counts;
      std::memcpy(&counts, at, sizeof(counts));
      std::fill(scores.begin() + static_cast<ptrdiff_t>(columns_), scores.end(), 0.0f);
      if (key.substr(0, options_.reordering_by_source ? middle : end) == reordering_key) {
        std::copy(reordering.begin(), reordering.end(),
                  scores.begin() + static_cast<ptrdiff_t>(columns_));
      } else if (reordering_columns_ > 0) {
        ++report.without_reordering;
      }
      ranked.add({source, target, links_, scores, counts, kManySentences, kNoLabel});
      if (++done % 4096 == 0) poll_interrupt();
    }
    ranked.flush();
    table.finish(path, {source_order.words, target_order.words}, info);
    report.rules = table.rules();
    report.source_sides = table.layout().source_sides;
    report.over_limit = ranked.dropped();
    report.too_long = too_long_;
    return report;
  }

 private:
  template <typename F>
  void read(ByteSource& source, F&& parse) {
    LineReader reader(source);
    std::string_view line;
    while (reader.next_text(line)) {
      if (parse(fields_of(line), reader.place())) {
        sorter_.shard(lines_ % sorter_.shards()).add(record_);
      }
      if (++lines_ % 4096 == 0) {
        poll_interrupt();
        progress_(lines_);
      }
    }
    progress_(lines_);
  }

  // The key, the kind and the number of the line, so that equal pairs keep their order. Returns the
  // number of source words.
  size_t begin_record(std::span<const std::string_view> fields, const std::string& place,
                      char kind) {
    record_.clear();
    const size_t source = add_side(fields[0], source_words_, kind);
    target_size_ = add_side(fields[1], target_words_, kind);
    if (source == 0 || target_size_ == 0) {
      throw InputError(place + ": the " + (source == 0 ? "source" : "target") +
                       " phrase is empty; expected words, drop the line");
    }
    record_ += kind;
    for (size_t i = 8; i-- > 0;) record_ += static_cast<char>(lines_ >> (8 * i) & 0xff);
    return source;
  }

  size_t add_side(std::string_view text, WordNumbers& words, char kind) {
    size_t n = 0;
    for_each_word(text, kBlanks, [&](std::string_view word) {
      if (kind == kPhraseLine) words.add(word);
      record_ += word;
      record_ += ' ';
      ++n;
    });
    record_ += "||| ";
    return n;
  }

  // `expected` is 0 for the first line, which determines the number of scores.
  void parse_scores(std::string_view text, const std::string& place, size_t& expected) {
    scores_.clear();
    for_each_word(text, kBlanks, [&](std::string_view word) {
      const double value = number_of(word);
      if (value < 0) {
        throw InputError(
            place + ": " + shown(word) +
            " is not a probability; expected a number of at least 0, correct the line");
      }
      scores_.push_back(std::max(kFloor, static_cast<float>(std::log(value))));
    });
    if (expected == 0) expected = scores_.size();
    if (scores_.size() != expected || expected == 0) {
      throw InputError(place + ": expected " + std::to_string(std::max<size_t>(expected, 1)) +
                       " scores, found " + std::to_string(scores_.size()) + "; correct the line");
    }
  }

  Columns names() const {
    Columns columns;
    const size_t translation =
        columns_ == 0 ? std::max<size_t>(options_.columns.size(), 1) : columns_;
    columns.names = options_.columns;
    if (columns.names.empty() && translation == 4) columns.names = phrase_columns(0).names;
    while (options_.columns.empty() && columns.names.size() < translation) {
      columns.names.push_back("score" + std::to_string(columns.names.size()));
    }
    if (columns.names.size() != translation) {
      throw InputError("the phrase table has " + std::to_string(translation) + " scores, but " +
                       std::to_string(columns.names.size()) + " names were given; give as many");
    }
    columns.reordering = static_cast<uint32_t>(reordering_columns_);
    std::vector<std::string> last = options_.reordering_columns;
    if (last.empty()) {
      last = phrase_columns(columns.reordering).names;
      last.erase(last.begin(), last.begin() + 4);
    }
    if (last.size() != reordering_columns_) {
      throw InputError("the reordering table has " + std::to_string(reordering_columns_) +
                       " scores, but " + std::to_string(last.size()) +
                       " names were given; give as many");
    }
    columns.names.insert(columns.names.end(), last.begin(), last.end());
    return columns;
  }

  static void decode(std::string_view text, const WordNumbers& words,
                     const std::vector<Word>& number, std::vector<Symbol>& out) {
    out.clear();
    for_each_word(text, " ",
                  [&](std::string_view word) { out.push_back(number[words.find(word)]); });
  }

  const MosesImport& options_;
  const std::function<void(uint64_t)>& progress_;
  RecordSorter sorter_;
  WordNumbers source_words_, target_words_;
  size_t columns_ = 0, reordering_columns_ = 0;
  uint64_t too_long_ = 0;
  uint64_t lines_ = 0;
  std::string record_;
  size_t target_size_ = 0;
  std::vector<float> scores_;
  std::vector<Point> points_;
  std::vector<Link> links_;
};

}  // namespace

MosesImportReport read_moses(ByteSource& phrases, ByteSource* reordering,
                             const MosesImport& options, const std::string& path,
                             std::string_view info, const std::function<void(uint64_t)>& progress) {
  Importer importer(options, progress);
  importer.read_phrases(phrases);
  if (reordering != nullptr) importer.read_reordering(*reordering);
  return importer.write(path, info);
}

}  // namespace hopefear::rules
