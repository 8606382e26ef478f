#include "lm/arpa_writer.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <system_error>

#include "base/interrupt.hpp"
#include "base/threads.hpp"

namespace hopefear::lm {
namespace {

constexpr size_t kNumber = 24;  // the longest number's text fits

// The shortest text that reads back as the same float, without exponent where lmplz has none.
char* put_number(char* at, float value) {
  const auto style = std::abs(value) >= 1e-6F || value == 0 ? std::chars_format::fixed
                                                            : std::chars_format::scientific;
  return std::to_chars(at, at + kNumber, value, style).ptr;
}

char* put_log10(char* at, float value) {
  // No text for log10(0) is known to every reader (a discount may be 0); -99 is customary.
  return put_number(at, value > 0 ? std::log10(value) : -99.0F);
}

}  // namespace

ArpaWriter::ArpaWriter(ByteSink& sink, std::span<const uint64_t> ngrams_per_order, size_t threads,
                       size_t memory)
    : sink_(sink), counts_(ngrams_per_order.begin(), ngrams_per_order.end()), threads_(threads) {
  for (Round& round : rounds_) round.batches.resize(4 * threads);
  // A line needs up to 320 bytes: its numbers, its words, its text, and reserve.
  batch_lines_ = std::clamp<size_t>(memory / (320 * 8 * threads), 16, 4096);
  batch_bytes_ = 64 * batch_lines_;
  std::string header = "\\data\\\n";
  for (size_t k = 0; k < counts_.size(); ++k) {
    header += "ngram " + std::to_string(k + 1) + "=" + std::to_string(counts_[k]) + "\n";
  }
  sink_.write(header);
}

void ArpaWriter::begin_order(int order) {
  flush();
  order_ = order;
  sink_.write("\n\\" + std::to_string(order) + "-grams:\n");
}

void ArpaWriter::add(float probability, std::string_view first, std::string_view rest,
                     float back_off) {
  Batch* batch = &rounds_[current_].batches[rounds_[current_].filling];
  if (batch->lines.size() == batch_lines_ || batch->words.size() >= batch_bytes_) {
    if (++rounds_[current_].filling == rounds_[current_].batches.size()) end_round();
    batch = &rounds_[current_].batches[rounds_[current_].filling];
  }
  batch->words.append(first);
  if (!rest.empty()) {
    batch->words.push_back(' ');
    batch->words.append(rest);
  }
  batch->lines.push_back({batch->words.size(), probability, back_off});
}

void ArpaWriter::format(Batch& batch, bool back_offs) {
  batch.remembered.resize(256);
  batch.output.resize(batch.words.size() + batch.lines.size() * (2 * kNumber + 3));
  char* at = batch.output.data();
  const char* words = batch.words.data();
  for (const Line& line : batch.lines) {
    at = put_log10(at, std::min(line.probability, 1.0F));
    *at++ = '\t';
    const char* const end = batch.words.data() + line.text_end;
    at = std::copy(words, end, at);
    words = end;
    if (back_offs) {
      *at++ = '\t';
      const uint32_t hash = std::bit_cast<uint32_t>(line.back_off) * 0x9e3779b1U >> 24;
      Remembered& known = batch.remembered[hash];
      if (known.value != line.back_off) {
        known.value = line.back_off;
        known.size = static_cast<uint32_t>(put_log10(known.text, line.back_off) - known.text);
      }
      std::memcpy(at, known.text, sizeof(known.text));  // a fixed size is faster than the exact one
      at += known.size;
    }
    *at++ = '\n';
  }
  batch.output.resize(static_cast<size_t>(at - batch.output.data()));
}

void ArpaWriter::end_round() {
  poll_interrupt();
  Round& full = rounds_[current_];
  Round& other = rounds_[1 - current_];
  if (formatting_.valid()) formatting_.get();
  const bool back_offs = static_cast<size_t>(order_) < counts_.size();
  const auto format_all = [this, &full, back_offs] {
    parallel_for(std::min(full.filling + 1, full.batches.size()), threads_ - (threads_ > 1),
                 [&](size_t i) { format(full.batches[i], back_offs); });
  };
  bool started = false;
  if (threads_ > 1) {
    try {
      formatting_ = std::async(std::launch::async, format_all);
      started = true;
    } catch (const std::system_error&) {  // the system has no thread left
    } catch (const std::bad_alloc&) {     // no memory for one
    }
  }
  if (!started) format_all();
  write(other);
  current_ = 1 - current_;
}

void ArpaWriter::write(Round& round) {
  for (Batch& batch : round.batches) {
    if (!batch.output.empty()) sink_.write(batch.output);
    batch.lines.clear();
    batch.words.clear();
    batch.output.clear();
  }
  round.filling = 0;
}

void ArpaWriter::flush() {
  end_round();  // the last lines are being formatted, those before are written
  end_round();  // the last lines are written
}

void ArpaWriter::finish() {
  flush();
  sink_.write("\n\\end\\\n");
}

}  // namespace hopefear::lm
