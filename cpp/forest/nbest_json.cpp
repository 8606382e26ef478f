#include "forest/nbest_json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace hopefear {
namespace {

constexpr std::string_view kBlanks = " \t\n\v\f\r";
constexpr int kMaxDepth = 64;  // of values that are skipped
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Reads JSON from a line; every function returns false at what it does not accept.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  void blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
  }
  bool at_end() {
    blanks();
    return at_ == end_;
  }
  bool take(char c) {
    blanks();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool next_is(char c) {
    blanks();
    return at_ != end_ && *at_ == c;
  }
  bool word(std::string_view text) {
    blanks();
    if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  bool string(std::string& out) {
    if (!take('"')) return false;
    out.clear();
    while (at_ != end_) {
      const char* const begin = at_;
      while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20)
        ++at_;
      out.append(begin, at_);
      if (at_ == end_ || static_cast<unsigned char>(*at_) < 0x20) return false;
      if (*at_++ == '"') return true;
      if (!escape(out)) return false;
    }
    return false;
  }

  // The characters of a number, which are a JSON number.
  bool number_text(std::string_view& out) {
    blanks();
    const char* const begin = at_;
    if (at_ != end_ && *at_ == '-') ++at_;
    if (at_ != end_ && *at_ == '0') {
      ++at_;
    } else if (!digits()) {
      return false;
    }
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      if (!digits()) return false;
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      if (at_ != end_ && (*at_ == '-' || *at_ == '+')) ++at_;
      if (!digits()) return false;
    }
    out = {begin, static_cast<size_t>(at_ - begin)};
    return true;
  }
  bool number(double& out) {
    std::string_view text;
    if (!number_text(text)) return false;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (status == std::errc::result_out_of_range) {
      // Too small, and so 0, if the exponent is negative.
      const size_t exponent = text.find_first_of("eE");
      if (exponent == std::string_view::npos || text[exponent + 1] != '-') return false;
      out = 0;
      return true;
    }
    return status == std::errc() && end == text.data() + text.size() &&
           std::abs(out) <= std::numeric_limits<float>::max();
  }

  // Calls f(key) for the keys of an object, which reads the value and returns false to give up.
  template <typename F>
  bool object(std::string& key, F&& f) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      if (!string(key) || !take(':') || !f()) return false;
    } while (take(','));
    return take('}');
  }

  bool skip(int depth = 0) {
    if (depth > kMaxDepth) return false;
    std::string text;
    std::string_view number;
    if (next_is('"')) return string(text);
    if (next_is('{')) return object(text, [&] { return skip(depth + 1); });
    if (take('[')) {
      if (take(']')) return true;
      do {
        if (!skip(depth + 1)) return false;
      } while (take(','));
      return take(']');
    }
    return word("null") || word("true") || word("false") || number_text(number);
  }

 private:
  bool digits() {
    const char* const begin = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != begin;
  }
  bool hex(uint32_t& out) {
    if (end_ - at_ < 4) return false;
    const auto [end, status] = std::from_chars(at_, at_ + 4, out, 16);
    if (status != std::errc() || end != at_ + 4) return false;
    at_ += 4;
    return true;
  }
  bool escape(std::string& out) {
    if (at_ == end_) return false;
    const char c = *at_++;
    constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
    if (c != 'u') {
      const size_t place = kFrom.find(c);
      if (place != std::string_view::npos) out.push_back(kTo[place]);
      return place != std::string_view::npos;
    }
    uint32_t point = 0;
    if (!hex(point)) return false;
    if (point >= 0xd800 && point < 0xe000) {  // a pair of surrogates
      uint32_t low = 0;
      if (point >= 0xdc00 || end_ - at_ < 6 || at_[0] != '\\' || at_[1] != 'u') return false;
      at_ += 2;
      if (!hex(low) || low < 0xdc00 || low >= 0xe000) return false;
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (point < 0x80) {
      put(point);
    } else if (point < 0x800) {
      put(0xc0 | point >> 6);
      put(0x80 | (point & 0x3f));
    } else if (point < 0x10000) {
      put(0xe0 | point >> 12);
      put(0x80 | (point >> 6 & 0x3f));
      put(0x80 | (point & 0x3f));
    } else {
      put(0xf0 | point >> 18);
      put(0x80 | (point >> 12 & 0x3f));
      put(0x80 | (point >> 6 & 0x3f));
      put(0x80 | (point & 0x3f));
    }
    return true;
  }

  const char* at_;
  const char* end_;
};

// Reads an object of numbers; reuses the elements of `out`.
template <typename Named>
bool read_numbers(Cursor& cursor, std::vector<Named>& out, size_t& count) {
  count = 0;
  if (cursor.word("null")) return true;
  std::string key;
  return cursor.object(key, [&] {
    if (count == out.size()) out.emplace_back();
    out[count].name.assign(key);
    return cursor.number(out[count++].value);
  });
}

}  // namespace

JsonNbestReader::JsonNbestReader(ByteSource& source, std::shared_ptr<Vocabulary> vocabulary,
                                 std::shared_ptr<FeatureNames> names)
    : lines_(source), vocabulary_(vocabulary), names_(names), builder_(vocabulary_, names_) {}

bool JsonNbestReader::parse(std::string_view line, Entry& entry) {
  enum Key : unsigned {
    kOther = 0,
    kId = 1,
    kText = 2,
    kFeatures = 4,
    kScore = 8,
    kScores = 16,
    kUtility = 32
  };
  unsigned seen = 0;
  entry.feature_count = entry.score_count = 0;
  entry.score = kNone;
  entry.utilities.clear();
  Cursor cursor(line);
  std::string key;
  const bool is_object = cursor.object(key, [&] {
    const unsigned kind = key == "id"          ? kId
                          : key == "text"      ? kText
                          : key == "features"  ? kFeatures
                          : key == "score"     ? kScore
                          : key == "scores"    ? kScores
                          : key == "utilities" ? kUtility
                                               : kOther;
    if (kind == kOther) return cursor.skip();
    if ((seen & kind) != 0) return false;
    seen |= kind;
    switch (kind) {
      case kId: {
        if (cursor.next_is('"')) return cursor.string(entry.id);
        std::string_view number;
        if (!cursor.number_text(number) || number == "-0") return false;
        if (number.find_first_of(".eE") != std::string_view::npos) return false;
        entry.id.assign(number);
        return true;
      }
      case kText:
        return cursor.string(entry.text);
      case kFeatures:
        return read_numbers(cursor, entry.features, entry.feature_count);
      case kScores:
        return read_numbers(cursor, entry.scores, entry.score_count);
      case kScore:
        return cursor.word("null") || cursor.number(entry.score);
      default:
        if (!cursor.take('[')) return false;
        if (cursor.take(']')) return true;
        do {
          entry.utilities.push_back(0);
          if (!cursor.number(entry.utilities.back())) return false;
        } while (cursor.take(','));
        return cursor.take(']');
    }
  });
  return is_object && cursor.at_end() && (seen & kId) != 0 && (seen & kText) != 0;
}

void JsonNbestReader::add(const Entry& entry, JsonNbestList& list) {
  row_.clear();
  order_.clear();
  for (size_t i = 0; i < entry.feature_count; ++i) {
    const Named& feature = entry.features[i];
    if (i == known_.size()) {
      known_.push_back({});
      known_ids_.push_back(0);
    }
    // The entries of a file usually have the same features in the same order.
    if (known_ids_[i] == 0 || known_[i].name != feature.name) {
      try {
        known_ids_[i] = names_->intern(feature.name);
      } catch (const InputError& bad_name) {
        throw InputError(place() + ": " + bad_name.what());
      }
      known_[i].name = feature.name;
    }
    row_.push_back({builder_.feature(known_ids_[i]), static_cast<float>(feature.value)});
    order_.push_back(row_.back().feature);
  }
  std::sort(order_.begin(), order_.end());
  if (std::adjacent_find(order_.begin(), order_.end()) != order_.end()) {
    throw InputError(place() + ": a feature occurs twice; give each once");
  }
  words_.clear();
  for_each_word(entry.text, kBlanks,
                [&](std::string_view word) { words_.push_back(vocabulary_->intern(word)); });
  if (builder_.nodes() == 0) builder_.add_node();
  builder_.add_edge(0, {}, words_, builder_.add_row(row_));
  const size_t number = list.scores.size();
  list.scores.push_back(entry.score);
  for (std::vector<double>& column : list.named) column.push_back(kNone);
  for (size_t i = 0; i < entry.score_count; ++i) {
    const std::string& name = entry.scores[i].name;
    const size_t place = static_cast<size_t>(std::find(list.names.begin(), list.names.end(), name) -
                                             list.names.begin());
    if (place == list.names.size()) {
      list.names.push_back(name);
      list.named.emplace_back(number + 1, kNone);
    }
    list.named[place][number] = entry.scores[i].value;
  }
  if (!entry.utilities.empty() || !list.utilities.empty()) {
    list.utilities.resize(number + 1);  // the entries before have none
    list.utilities[number] = entry.utilities;
  }
}

bool JsonNbestReader::next(JsonNbestList& list) {
  list = {};
  if (!wrong_.empty()) return false;
  std::string id;
  bool any = has_pending_;
  if (has_pending_) {
    id = pending_.id;
    add(pending_, list);
    has_pending_ = false;
  }
  std::string_view line;
  while (lines_.next_text(line)) {
    if ((lines_.line_number() & 0xff) == 0) poll_interrupt();
    if (line.find_first_not_of(kBlanks) == std::string_view::npos) continue;
    if (!parse(line, entry_)) {
      wrong_.assign(line);
      return false;
    }
    if (any && entry_.id != id) {
      std::swap(pending_, entry_);
      has_pending_ = true;
      list.forest = builder_.finish(0, id);
      return true;
    }
    id = entry_.id;
    add(entry_, list);
    any = true;
  }
  if (any) list.forest = builder_.finish(0, id);
  return any;
}

}  // namespace hopefear
