#include "lm/arpa_reader.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace hopefear::lm {
namespace {

constexpr uint64_t kLinesBeforeData = 10'000;
constexpr float kRounding = 1e-5F;
constexpr float kLogZero = -99;

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\0'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// Removes the next field from the front of `text` and returns it; empty at the end. This loop is
// four times as fast as find_first_of; splitting fields is a fifth of the time of reading.
std::string_view take_field(std::string_view& text) {
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end && blank(*p)) ++p;
  const char* const begin = p;
  while (p != end && !blank(*p)) ++p;
  text = std::string_view(p, static_cast<size_t>(end - p));
  return {begin, static_cast<size_t>(p - begin)};
}

constexpr double kPowers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                              1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

// A decimal number, possibly infinite. Up to 15 digits without exponent (the usual case) are exact
// in a double, and one division rounds once; the library parses all other numbers.
bool parse_float(std::string_view text, float& value) {
  const char* p = text.data();
  const char* const end = p + text.size();
  const bool minus = p != end && *p == '-';
  if (p != end && (*p == '-' || *p == '+')) ++p;
  const char* const digits = p;
  uint64_t mantissa = 0;
  for (; p != end && *p >= '0' && *p <= '9'; ++p) {
    mantissa = mantissa * 10 + static_cast<uint64_t>(*p - '0');
  }
  ptrdiff_t count = p - digits, fraction = 0;
  if (p != end && *p == '.') {
    const char* const point = ++p;
    for (; p != end && *p >= '0' && *p <= '9'; ++p) {
      mantissa = mantissa * 10 + static_cast<uint64_t>(*p - '0');
    }
    fraction = p - point;
    count += fraction;
  }
  if (p == end && count > 0 && count <= 15) {
    const double x = static_cast<double>(mantissa) / kPowers[fraction];
    value = static_cast<float>(minus ? -x : x);
    return true;
  }
  if (digits == end || *digits == '-' || *digits == '+') return false;  // "--1", "+-1"
  double x = 0;
  const auto [rest, problem] = std::from_chars(digits, end, x);
  // "1e-400" is out of range for the library; other readers take it as 0.
  if (problem == std::errc::result_out_of_range && rest == end) {
    x = text.find("e-") != std::string_view::npos || text.find("E-") != std::string_view::npos
            ? 0.0
            : HUGE_VAL;
  } else if (problem != std::errc() || rest != end) {
    return false;
  }
  value = static_cast<float>(minus ? -x : x);
  return !std::isnan(value);
}

bool parse_count(std::string_view text, uint64_t& value) {
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && rest == text.data() + text.size();
}

std::string section_name(unsigned n) {
  std::string name = "\\";
  return name.append(std::to_string(n)).append("-grams:");
}

}  // namespace

ArpaReader::ArpaReader(ByteSource& source) : lines_(source) { read_header(); }

InputError ArpaReader::error(const std::string& what, uint64_t line) const {
  return InputError(name() + ":" + std::to_string(line != 0 ? line : line_number()) + ": " + what +
                    "; make the ARPA file again");
}

InputError ArpaReader::at_end(const std::string& where) const {
  return InputError(name() + ":" + std::to_string(line_number()) + ": the file ends " + where +
                    ", expected \\end\\; it is truncated, fetch or make it again");
}

bool ArpaReader::read_line() {
  while (lines_.next(line_)) {
    line_ = trimmed(line_);
    if (!line_.empty()) return true;
  }
  return false;
}

void ArpaReader::read_header() {
  const auto not_arpa = [&](const std::string& why) {
    return InputError(name() + ": " + why +
                      ", expected an ARPA file (its header starts with \\data\\) or what "
                      "'hopefear lm compile' wrote");
  };
  do {
    if (!read_line()) {
      throw not_arpa(line_number() == 0 ? "is empty" : "has no \\data\\ line");
    }
    if (line_number() > kLinesBeforeData) {
      throw not_arpa("has no \\data\\ line among the first " + std::to_string(kLinesBeforeData));
    }
    // A byte order mark is skipped.
    if (line_number() == 1 && line_.starts_with("\xEF\xBB\xBF")) line_.remove_prefix(3);
  } while (line_ != "\\data\\");
  while (true) {
    if (!read_line()) throw at_end("in the header");
    if (line_.front() == '\\') break;
    std::string_view rest = line_;
    if (take_field(rest) != "ngram") {
      throw error("expected 'ngram N=COUNT' or '\\1-grams:', found " + shown(line_));
    }
    const size_t equals = rest.find('=');
    uint64_t n = 0, count = 0;
    if (equals == std::string_view::npos || !parse_count(trimmed(rest.substr(0, equals)), n) ||
        !parse_count(trimmed(rest.substr(equals + 1)), count)) {
      throw error("expected 'ngram N=COUNT', found " + shown(line_));
    }
    if (n != order_ + 1) {
      throw error("expected the count of the " + std::to_string(order_ + 1) + "-grams, found " +
                  shown(line_));
    }
    if (n > kMaxOrder) {
      throw InputError(name() + ":" + std::to_string(line_number()) + ": order " +
                       std::to_string(n) + " is more than the " + std::to_string(kMaxOrder) +
                       " supported; prune or estimate the model at a lower order");
    }
    counts_[order_++] = count;
  }
  if (order_ == 0) throw error("expected 'ngram 1=COUNT', found " + shown(line_));
  if (counts_[0] == 0) throw error("the header says that there are no 1-grams");
  expect_section(1);
}

// line_ must open section n.
void ArpaReader::expect_section(unsigned n) {
  if (line_ != section_name(n)) {
    throw error("expected '" + section_name(n) + "', found " + shown(line_));
  }
  section_ = n;
  read_ = 0;
}

// line_ starts with a backslash, or a header is due.
void ArpaReader::end_section(unsigned n) {
  if (read_ != counts_[n - 1]) {
    throw error("the " + std::to_string(n) + "-grams end after " + std::to_string(read_) +
                ", the header says " + std::to_string(counts_[n - 1]));
  }
  if (line_.starts_with("\\end")) {
    for (unsigned higher = n + 1; higher <= order_; ++higher) {
      if (counts_[higher - 1] != 0) {
        throw error("expected '" + section_name(higher) + "', found " + shown(line_));
      }
    }
    ended_ = true;
  } else if (n < order_) {
    expect_section(n + 1);
  } else {
    throw error("expected '\\end\\', found " + shown(line_));
  }
}

bool ArpaReader::next(unsigned n, ArpaNgram& ngram) {
  if (ended_ || section_ != n) return false;
  if (!read_line()) {
    throw at_end("in the " + std::to_string(n) + "-grams after " + std::to_string(read_) + " of " +
                 std::to_string(counts_[n - 1]));
  }
  if (line_.front() == '\\') {  // an n-gram starts with a number
    end_section(n);
    return false;
  }
  if (read_ == counts_[n - 1]) {
    throw error("more " + std::to_string(n) + "-grams than the " + std::to_string(read_) +
                " of the header: " + shown(line_));
  }
  ++read_;
  std::string_view rest = line_;
  const std::string_view number = take_field(rest);
  if (!parse_float(number, ngram.log10)) {
    throw error("expected a log10 probability, found " + shown(number));
  }
  if (ngram.log10 == -std::numeric_limits<float>::infinity()) ngram.log10 = kLogZero;
  if (ngram.log10 > 0) {
    if (ngram.log10 > kRounding) {
      throw error("expected a log10 probability of at most 0, found " + shown(number));
    }
    ngram.log10 = 0;
  }
  for (unsigned i = 0; i < n; ++i) {
    ngram.words[i] = take_field(rest);
    if (ngram.words[i].empty()) {
      throw error("expected " + std::to_string(n) + (n == 1 ? " word" : " words") + ", found " +
                  std::to_string(i) + " in " + shown(line_));
    }
  }
  ngram.backoff = 0;
  const std::string_view backoff = take_field(rest);
  if (!backoff.empty()) {
    if (!parse_float(backoff, ngram.backoff) || !std::isfinite(ngram.backoff)) {
      throw error("expected a log10 back-off weight after " + std::to_string(n) +
                  (n == 1 ? " word" : " words") + ", found " + shown(backoff));
    }
    if (!take_field(rest).empty()) {
      throw error("expected " + std::to_string(n) + (n == 1 ? " word" : " words") +
                  " and at most one back-off weight, found more in " + shown(line_));
    }
  }
  return true;
}

}  // namespace hopefear::lm
