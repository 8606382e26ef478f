// Reads ARPA files as KenLM, SRILM and IRSTLM write them.
//
// Any text may come before \data\; fields are separated by blanks or tabs; a missing back-off is 0;
// \end\ is required. The log of 0 (-inf, or a number below the range of float) becomes -99, as
// SRILM writes it. A malformed file is an InputError that names the line: a count that differs from
// the header, a wrong number of words, any other number that is not finite, a positive log
// probability (up to 1e-5 is taken as rounding and becomes 0).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/io.hpp"

namespace hopefear::lm {

struct ArpaNgram {
  std::string_view words[6];  // valid until the next call of ArpaReader::next
  float log10 = 0;            // never positive
  float backoff = 0;          // log10
};

class ArpaReader {
 public:
  static constexpr unsigned kMaxOrder = 6;

  explicit ArpaReader(ByteSource& source);  // reads the header

  unsigned order() const { return order_; }
  uint64_t count(unsigned n) const { return counts_[n - 1]; }  // according to the header

  // Reads the next n-gram of order n. Orders must be read from 1 upwards, each until next() returns
  // false, which means that their number matches the header.
  bool next(unsigned n, ArpaNgram& ngram);

  uint64_t line_number() const { return lines_.line_number(); }
  const std::string& name() const { return lines_.name(); }
  // An error at the given line, by default the one last read.
  InputError error(const std::string& what, uint64_t line = 0) const;

 private:
  bool read_line();  // into line_, without blanks at its ends; skips empty ones
  void read_header();
  void end_section(unsigned n);
  void expect_section(unsigned n);
  InputError at_end(const std::string& where) const;

  LineReader lines_;
  std::string_view line_;
  unsigned order_ = 0;
  uint64_t counts_[kMaxOrder] = {};
  unsigned section_ = 0;  // the one being read
  uint64_t read_ = 0;     // n-grams of it so far
  bool ended_ = false;
};

}  // namespace hopefear::lm
