#include "base/weights.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <numeric>
#include <tuple>

#include "base/feature_name.hpp"
#include "base/interrupt.hpp"

namespace hopefear {
namespace {

constexpr BinaryKind kKind{"weights", 1, "save the weights again"};
constexpr std::string_view kIdPrefix = "id:";
constexpr size_t kSpare = 64;  // slots after the last home slot
// In a table of 20 million every look-up misses the cache and the TLB. Prefetching the slots this
// many steps ahead overlaps the misses: a dot product then takes a third of the time.
constexpr size_t kAhead = 12;

std::string id_text(FeatureId id) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(id));
  return std::string(kIdPrefix) + digits;
}

// The id that "id:0123456789abcdef" stands for, or 0 if the name is an ordinary one.
FeatureId parse_id_text(std::string_view name) {
  if (!name.starts_with(kIdPrefix) || name.size() != kIdPrefix.size() + 16) return 0;
  FeatureId id = 0;
  const char* end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + kIdPrefix.size(), end, id, 16);
  return error == std::errc() && at == end ? id : 0;
}

}  // namespace

// ---- FeatureNames ----

FeatureId FeatureNames::intern(std::string_view name) {
  if (const FeatureId id = parse_id_text(name); id != 0) return id;
  const FeatureId id = feature_id(name);
  if (const std::string_view known = this->name(id); !known.empty()) {
    if (known != name) {
      throw InputError("features " + shown(known) + " and " + shown(name) +
                       " have the same 64-bit id; rename one of them");
    }
    return id;
  }
  check_feature_name(name);
  offsets_.try_emplace(id, text_.size());
  const auto length = static_cast<uint32_t>(name.size());
  text_.append(reinterpret_cast<const char*>(&length), sizeof(length));
  text_.append(name);
  return id;
}

std::string_view FeatureNames::name(FeatureId id) const {
  const uint64_t* const offset = id == 0 ? nullptr : offsets_.find(id);
  if (offset == nullptr) return {};
  uint32_t length;
  std::memcpy(&length, text_.data() + *offset, sizeof(length));
  return {text_.data() + *offset + sizeof(length), length};
}

void FeatureNames::add(const FeatureNames& others) {
  if (&others == this) return;
  others.offsets_.for_each([&](FeatureId id, uint64_t) { intern(others.name(id)); });
}

size_t FeatureNames::bytes() const { return offsets_.bytes() + text_.capacity(); }

// ---- Weights ----

size_t Weights::find(FeatureId id) const {
  size_t i = home(id);
  while (ids_[i] != 0 && ids_[i] != id) ++i;
  return i;
}

float Weights::get(FeatureId id) const {
  if (capacity_ == 0) return 0;
  const size_t i = find(id);
  return ids_[i] == id ? values_[i] : 0;
}

bool Weights::has(FeatureId id) const { return capacity_ != 0 && ids_[find(id)] == id; }

void Weights::rebuild(size_t capacity) {
  LargeVector<FeatureId> old_ids;
  LargeVector<float> old_values;
  old_ids.swap(ids_);
  old_values.swap(values_);
  capacity_ = capacity;
  ids_.assign(capacity + kSpare, 0);
  values_.assign(capacity + kSpare, 0);
  for (size_t i = 0; i < old_ids.size(); ++i) {
    if (old_ids[i] != 0) values_[claim(old_ids[i])] = old_values[i];
  }
}

size_t Weights::claim(FeatureId id) {
  const size_t i = find(id);
  ids_[i] = id;
  if (i + 1 == ids_.size()) {  // the last slot stays empty: it ends every probe
    ids_.resize(ids_.size() + kSpare, 0);
    values_.resize(values_.size() + kSpare, 0);
  }
  return i;
}

void Weights::reserve(size_t entries) {
  const size_t capacity = entries + entries / 2 + 16;  // load 2/3
  if (capacity > capacity_) rebuild(capacity);
}

float& Weights::entry(FeatureId id) {
  if (10 * (size_ + 1) > 7 * capacity_) rebuild(capacity_ + capacity_ / 2 + 64);
  const size_t i = find(id);
  if (ids_[i] == id) return values_[i];
  ++size_;
  return values_[claim(id)];
}

void Weights::set(FeatureId id, float value) { entry(id) = value; }

double Weights::dot(std::span<const FeatureId> ids, std::span<const float> values) const {
  if (capacity_ == 0) return 0;
  double sum = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i + kAhead < ids.size()) prefetch(ids[i + kAhead]);
    const size_t at = find(ids[i]);
    if (ids_[at] == ids[i]) sum += static_cast<double>(values_[at]) * values[i];
  }
  return sum;
}

double Weights::sum(std::span<const FeatureId> ids) const {
  if (capacity_ == 0) return 0;
  double sum = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i + kAhead < ids.size()) prefetch(ids[i + kAhead]);
    const size_t at = find(ids[i]);
    if (ids_[at] == ids[i]) sum += static_cast<double>(values_[at]);
  }
  return sum;
}

void Weights::add_scaled(std::span<const FeatureId> ids, std::span<const float> values,
                         double factor) {
  if (ids.size() > size_) reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i + kAhead < ids.size() && capacity_ != 0) prefetch(ids[i + kAhead]);
    float& value = entry(ids[i]);
    value = static_cast<float>(value + factor * values[i]);
  }
}

void Weights::scale(double factor) {
  for (float& value : values_) value = static_cast<float>(value * factor);
}

size_t Weights::active() const {
  return static_cast<size_t>(
      std::count_if(values_.begin(), values_.end(), [](float v) { return v != 0; }));
}

size_t Weights::bytes() const {
  return ids_.capacity() * sizeof(FeatureId) + values_.capacity() * sizeof(float);
}

void Weights::drop_zeros() {
  const SparseVector all = to_vector();
  *this = Weights();
  size_t kept = 0;
  for (const float value : all.values()) kept += value != 0;
  reserve(kept);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all.values()[i] != 0) set(all.ids()[i], all.values()[i]);
  }
}

SparseVector Weights::to_vector() const {
  // One counting pass by the ids' first bits, then small sorts: three times as fast as one big
  // sort.
  constexpr int kShift = 64 - 12;
  std::vector<size_t> begin((size_t{1} << 12) + 1);
  for (const FeatureId id : ids_) {
    if (id != 0) ++begin[(id >> kShift) + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::pair<FeatureId, float>> entries(size_);
  std::vector<size_t> next(begin.begin(), begin.end() - 1);
  for (size_t i = 0; i < ids_.size(); ++i) {
    if (ids_[i] != 0) entries[next[ids_[i] >> kShift]++] = {ids_[i], values_[i]};
  }
  std::vector<FeatureId> ids(size_);
  std::vector<float> values(size_);
  for (size_t b = 0; b + 1 < begin.size(); ++b) {
    std::sort(entries.begin() + static_cast<std::ptrdiff_t>(begin[b]),
              entries.begin() + static_cast<std::ptrdiff_t>(begin[b + 1]));
  }
  for (size_t i = 0; i < size_; ++i) std::tie(ids[i], values[i]) = entries[i];
  std::vector<std::pair<FeatureId, float>>().swap(entries);
  return SparseVector(ids, values);
}

std::vector<std::pair<FeatureId, float>> Weights::top(size_t k) const {
  const auto better = [](const auto& a, const auto& b) {
    const float x = std::abs(a.second), y = std::abs(b.second);
    return x != y ? x > y : a.first < b.first;
  };
  std::vector<std::pair<FeatureId, float>> entries;  // a heap with the worst on top
  for (size_t i = 0; i < ids_.size(); ++i) {
    if (ids_[i] == 0 || values_[i] == 0) continue;
    const std::pair<FeatureId, float> entry{ids_[i], values_[i]};
    if (entries.size() == k) {
      if (k == 0 || !better(entry, entries.front())) continue;
      std::pop_heap(entries.begin(), entries.end(), better);
      entries.pop_back();
    }
    entries.push_back(entry);
    std::push_heap(entries.begin(), entries.end(), better);
  }
  std::sort_heap(entries.begin(), entries.end(), better);
  return entries;
}

double Weights::norm1() const {
  double sum = 0;
  for (const float value : values_) sum += std::abs(value);
  return sum;
}

double Weights::norm2() const {
  double sum = 0;
  for (const float value : values_) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

// ---- Files ----

namespace {

std::string display_name(FeatureId id, const FeatureNames* names) {
  const std::string_view name = names == nullptr ? std::string_view() : names->name(id);
  return name.empty() ? id_text(id) : std::string(name);
}

// A weight that is not finite is an error elsewhere and must not be written to a file.
void check_finite(const SparseVector& weights, const FeatureNames* names) {
  for (size_t i = 0; i < weights.size(); ++i) {
    if (std::isfinite(weights.values()[i])) continue;
    throw InputError("weight of '" + display_name(weights.ids()[i], names) + "' is " +
                     std::to_string(weights.values()[i]) + ", not a finite number; nothing saved");
  }
}

}  // namespace

void save_weights(const std::string& path, const SparseVector& weights, const FeatureNames* names) {
  check_finite(weights, names);
  BinaryWriter writer(path, kKind);
  writer.add("ids", weights.ids());
  writer.add("values", weights.values());
  if (names != nullptr) {
    std::vector<uint32_t> lengths;
    lengths.reserve(weights.size());
    for (const FeatureId id : weights.ids()) {
      lengths.push_back(static_cast<uint32_t>(names->name(id).size()));
    }
    writer.add("name_lengths", std::span<const uint32_t>(lengths));
    writer.begin("names");
    for (const FeatureId id : weights.ids()) {
      const std::string_view name = names->name(id);
      writer.append(name.data(), name.size());
    }
  }
  writer.finish();
}

void load_weights(const std::string& path, Weights& weights, FeatureNames* names) {
  const BinaryFile file = BinaryFile::open(path, kKind);
  const auto ids = file.section<FeatureId>("ids");
  const auto values = file.section<float>("values", ids.size());
  FeatureId last = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] <= last) throw file.damaged("ids do not ascend");
    if (!std::isfinite(values[i])) throw file.damaged(id_text(ids[i]) + " is not finite");
    last = ids[i];
  }
  weights.add_scaled(ids, values, 1);
  if (names == nullptr || !file.has("names")) return;
  const auto lengths = file.section<uint32_t>("name_lengths", ids.size());
  std::string_view text(file.section<char>("names").data(), file.section<char>("names").size());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (lengths[i] > text.size()) throw file.damaged("names end early");
    const std::string_view name = text.substr(0, lengths[i]);
    text.remove_prefix(lengths[i]);
    if (name.empty()) continue;
    if (feature_id(name) != ids[i]) throw file.damaged("a name has another id");
    try {
      names->intern(name);
    } catch (const InputError& error) {
      throw InputError(path + ": " + error.what());
    }
  }
}

void write_weights_text(ByteSink& sink, const SparseVector& weights, const FeatureNames* names) {
  check_finite(weights, names);
  // Names are not copied: there may be 20 million.
  std::deque<std::string> made;
  std::vector<std::pair<std::string_view, float>> lines;
  lines.reserve(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    std::string_view name = names == nullptr ? std::string_view() : names->name(weights.ids()[i]);
    if (name.empty()) name = made.emplace_back(id_text(weights.ids()[i]));
    lines.emplace_back(name, weights.values()[i]);
  }
  std::sort(lines.begin(), lines.end());
  BufferedSink out(sink);
  for (const auto& [name, value] : lines) {
    char number[32];
    const auto [end, error] = std::to_chars(number, number + sizeof(number), value);
    out.write(name);
    out.put('\t');
    out.write({number, static_cast<size_t>(end - number)});
    out.put('\n');
  }
  out.flush();
}

namespace {

// Reads a finite number; `text` must have nothing else.
bool parse_weight(std::string_view text, float& value) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) {  // a learner's 1e-50 is 0 as a float
    double wide = 0;
    const auto again = std::from_chars(text.data(), end, wide);
    at = again.ptr;
    error = again.ec;
    value = static_cast<float>(wide);
  }
  return error == std::errc() && at == end && std::isfinite(value);
}

// Splits a line at its last tab, else at its last blank, else at its last '='; the name is empty if
// there is no such place.
std::pair<std::string_view, std::string_view> split_weight(std::string_view line) {
  constexpr std::string_view kBlank = " ";
  if (const size_t tab = line.rfind('\t'); tab != std::string_view::npos) {
    return {line.substr(0, tab), line.substr(tab + 1)};
  }
  const size_t first = std::min(line.find_first_not_of(kBlank), line.size());
  line = line.substr(first, line.find_last_not_of(kBlank) + 1 - first);
  size_t at = line.rfind(' ');
  if (at == std::string_view::npos) at = line.rfind('=');
  if (at == std::string_view::npos) return {};
  std::string_view name = line.substr(0, at);
  name = name.substr(0, name.find_last_not_of(kBlank) + 1);
  if (line[at] == ' ' && name.ends_with('=')) name.remove_suffix(1);
  return {name, line.substr(at + 1)};
}

}  // namespace

void read_weights_text(ByteSource& source, Weights& weights, FeatureNames* names) {
  LineReader reader(source);
  std::string_view line;
  FeatureNames own;  // detects duplicates by name even if names are not kept
  while (reader.next(line)) {
    if ((reader.line_number() & 0xffff) == 0) poll_interrupt();
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.find_first_not_of(' ') == std::string_view::npos) continue;
    const auto [name, number] = split_weight(line);
    float value = 0;
    const bool valid = parse_weight(number, value);
    // A comment; but a name may begin with '#' too, if a tab follows.
    if (line.front() == '#' && !(valid && line.find('\t') != std::string_view::npos)) continue;
    if (name.empty()) {
      throw InputError(reader.place() + ": expected name<TAB>value or 'name value', found " +
                       shown(line));
    }
    if (!valid) {
      throw InputError(reader.place() + ": weight of " + shown(name) + " is " + shown(number) +
                       ", expected a finite number");
    }
    FeatureId id;
    try {
      id = (names != nullptr ? names : &own)->intern(name);
    } catch (const InputError& error_in_name) {
      throw InputError(reader.place() + ": " + error_in_name.what());
    }
    if (weights.has(id)) {
      throw InputError(reader.place() + ": " + shown(name) +
                       " has a weight already; keep one of the lines");
    }
    weights.set(id, value);
  }
}

}  // namespace hopefear
