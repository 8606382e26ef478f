#include "forest/nbest.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace hopefear {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";  // none of them may be in a word
constexpr std::string_view kBar = "|||";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The text up to the next bar, which is removed from `rest`; false if nothing is left.
bool next_field(std::string_view& rest, bool& more, std::string_view& field) {
  if (!more) return false;
  const size_t bar = rest.find(kBar);
  more = bar != std::string_view::npos;
  field = trimmed(rest.substr(0, bar));
  if (more) rest.remove_prefix(bar + kBar.size());
  return true;
}

}  // namespace

NbestReader::NbestReader(ByteSource& source, std::shared_ptr<Vocabulary> vocabulary,
                         std::shared_ptr<FeatureNames> names)
    : lines_(source), vocabulary_(vocabulary), names_(names), builder_(vocabulary_, names_) {}

InputError NbestReader::error(const std::string& why) const {
  return InputError(lines_.place() + ": " + why);
}

double NbestReader::number(std::string_view text, const char* what) const {
  double value = 0;
  const char* const first = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [end, status] = std::from_chars(first, text.data() + text.size(), value);
  if (status == std::errc::result_out_of_range && end == text.data() + text.size()) {
    return std::strtod(std::string(text).c_str(), nullptr);  // 0 or infinity, with its sign
  }
  if (status != std::errc() || end != text.data() + text.size()) {
    throw error(std::string(what) + " is " + shown(text) + ", expected a number");
  }
  return value;
}

NbestReader::Label& NbestReader::label(std::string_view name) {
  text_.assign(name);
  Label& entry = labels_[text_];  // elements of an unordered_map do not move
  if (entry.name.empty()) entry.name = text_;
  if (entry.line_values.empty()) touched_.push_back(&entry);
  return entry;
}

void NbestReader::add_features(std::string_view text) {
  // A label takes the values that follow it; "name=value" ends the list of values.
  std::string_view current;
  Label* open = nullptr;
  touched_.clear();
  const auto close = [&] {
    if (open != nullptr && open->line_values.empty()) {
      throw error("label " + shown(current) + " has no value; write 'NAME= VALUE'");
    }
    open = nullptr;
  };
  for_each_word(text, kBlanks, [&](std::string_view token) {
    const size_t equals = token.rfind('=');
    const bool is_label = token.size() > 1 && (token.back() == '=' || token.back() == ':');
    if (is_label) {
      close();
      current = token.substr(0, token.size() - 1);
      open = &label(current);
    } else if (equals != std::string_view::npos && equals > 0) {
      close();
      const std::string_view name = token.substr(0, equals);
      const double value = number(token.substr(equals + 1), "the value of a feature");
      label(name).line_values.push_back(value);
    } else if (open != nullptr) {
      open->line_values.push_back(number(token, "the value of a feature"));
    } else {
      throw error("feature " + shown(token) + ", expected 'NAME=VALUE' or 'NAME= VALUE …'");
    }
  });
  close();
  for (Label* l : touched_) {
    if (l->values > 0) continue;
    l->values = static_cast<uint32_t>(l->line_values.size());
    for (uint32_t i = 1; i <= l->values; ++i) {
      try {
        l->ids.push_back(
            names_->intern(l->values == 1 ? l->name : l->name + "_" + std::to_string(i)));
      } catch (const InputError& bad_name) {
        throw error(bad_name.what());
      }
    }
  }
}

void NbestReader::add_entry(std::string_view line) {
  std::string_view rest = line, id, text, features, score;
  bool more = true;
  next_field(rest, more, id);
  if (!next_field(rest, more, text) || !next_field(rest, more, features)) {
    throw error("expected 'id ||| words ||| features ||| score', found " + shown(line));
  }
  const bool scored = next_field(rest, more, score) && !score.empty();
  words_.clear();
  for_each_word(text, kBlanks,
                [&](std::string_view word) { words_.push_back(vocabulary_->intern(word)); });
  add_features(features);
  entries_.clear();
  for (Label* l : touched_) {
    if (l->line_values.size() != l->values) {
      throw error("label " + shown(l->name) + " has " + std::to_string(l->line_values.size()) +
                  " values, in earlier lines it has " + std::to_string(l->values));
    }
    for (uint32_t i = 0; i < l->values; ++i) {
      if (!std::isfinite(static_cast<float>(l->line_values[i]))) {
        char number[32];
        std::snprintf(number, sizeof(number), "%g", l->line_values[i]);
        throw error("feature " + shown(names_->name(l->ids[i])) + " is " + number +
                    ", expected a finite number below 3.4e38; correct or drop it");
      }
      entries_.push_back({builder_.feature(l->ids[i]), static_cast<float>(l->line_values[i])});
    }
    l->line_values.clear();
  }
  double value = std::numeric_limits<double>::quiet_NaN();
  if (scored) {
    value = number(score, "the score");
    if (std::isnan(value)) throw error("the score is 'nan', expected a number");
  }
  if (builder_.nodes() == 0) builder_.add_node();
  const uint32_t row = builder_.add_row(entries_);
  builder_.add_edge(0, {}, words_, row);
  scores_.push_back(value);
}

bool NbestReader::next(NbestList& list) {
  scores_.clear();
  bool any = false;
  if (has_pending_) {
    add_entry(pending_);
    any = true;
    has_pending_ = false;
  }
  std::string_view line;
  while (lines_.next_text(line)) {
    if ((lines_.line_number() & 0xff) == 0) poll_interrupt();
    if (trimmed(line).empty()) continue;
    const std::string_view id = trimmed(line.substr(0, line.find(kBar)));
    if (any && id != id_) {
      pending_.assign(line);
      text_.assign(id);
      std::swap(id_, text_);
      has_pending_ = true;
      list = {builder_.finish(0, text_), scores_};
      return true;
    }
    if (!any) id_.assign(id);
    add_entry(line);
    any = true;
  }
  if (!any) return false;
  list = {builder_.finish(0, id_), scores_};
  return true;
}

}  // namespace hopefear
