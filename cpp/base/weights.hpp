// Weights of tens of millions of features, and the names of the features.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/binary_file.hpp"
#include "base/large_vector.hpp"
#include "base/probing_table.hpp"
#include "base/sparse_vector.hpp"

namespace hopefear {

// Names of features by id, each kept once. May be shared by many tables; only one thread at a time
// may intern.
class FeatureNames {
 public:
  FeatureId intern(std::string_view name);    // InputError for a bad name or a hash collision
  std::string_view name(FeatureId id) const;  // empty if unknown; valid until the next intern
  bool has(FeatureId id) const { return !name(id).empty(); }
  void add(const FeatureNames& others);  // interns all of them
  size_t size() const { return offsets_.size(); }
  size_t bytes() const;  // memory held

 private:
  ProbingMap<uint64_t, AsItIs, 6> offsets_;  // in text_
  std::string text_;                         // length (4 bytes) and bytes of every name
};

// A map from feature ids to weights. Not a ProbingTable, to save memory and time with tens of
// millions of entries: ids and values in separate arrays take 12 bytes per entry instead of 16,
// growing by half instead of doubling saves a third, and large pages and prefetching hide most
// cache misses. Ids are hashes already but often come in ascending order (from a vector or a file),
// which would fill the front of the table first, so home() multiplies them.
class Weights {
 public:
  Weights() = default;
  explicit Weights(const SparseVector& vector) { add_scaled(vector, 1); }

  size_t size() const { return size_; }  // entries, zeros included
  size_t active() const;                 // entries that are not 0
  size_t bytes() const;                  // memory held
  float get(FeatureId id) const;         // 0 if absent
  bool has(FeatureId id) const;
  void set(FeatureId id, float value);
  void reserve(size_t entries);

  // The sum over the vector's entries of weight * value; about 20 ns per entry in a large table.
  double dot(std::span<const FeatureId> ids, std::span<const float> values) const;
  double dot(const SparseVector& v) const { return dot(v.ids(), v.values()); }
  double sum(std::span<const FeatureId> ids) const;  // of their weights
  void add_scaled(std::span<const FeatureId> ids, std::span<const float> values, double factor);
  void add_scaled(const SparseVector& v, double factor) { add_scaled(v.ids(), v.values(), factor); }
  void scale(double factor);
  void drop_zeros();
  SparseVector to_vector() const;  // sorted by id
  // The k entries of largest absolute value, largest first, ties by id.
  std::vector<std::pair<FeatureId, float>> top(size_t k) const;
  double norm1() const;
  double norm2() const;

 private:
  size_t home(FeatureId id) const {
    const uint64_t spread = id * 0x9e3779b97f4a7c15ULL;
    return static_cast<size_t>((static_cast<unsigned __int128>(spread) * capacity_) >> 64);
  }
  void prefetch(FeatureId id) const {
    const size_t slot = home(id);
    __builtin_prefetch(&ids_[slot]);
    __builtin_prefetch(&values_[slot]);
  }
  size_t find(FeatureId id) const;  // its slot, or the first empty one after its home
  float& entry(FeatureId id);       // inserts 0
  size_t claim(FeatureId id);       // the slot of an id, inserted if it is new
  void rebuild(size_t capacity);
  // Slots from `capacity_` on take entries that probing moves past the end; the last one is always
  // empty.
  LargeVector<FeatureId> ids_;
  LargeVector<float> values_;
  size_t capacity_ = 0;
  size_t size_ = 0;
};

// Binary file of kind "weights". Names may be null. Loading checks that ids ascend and that values
// are finite.
void save_weights(const std::string& path, const SparseVector& weights, const FeatureNames* names);
void load_weights(const std::string& path, Weights& weights, FeatureNames* names);

// Text: name<TAB>value per line, sorted by name. A feature without a name is written as
// id:0123456789abcdef, and read back as that id.
void write_weights_text(ByteSink& sink, const SparseVector& weights, const FeatureNames* names);
// Reads lines of a name and a weight. With a tab on the line the last one separates them, else the
// last blank does (cdec and Moses write blanks), else the last '='. A line that begins with '#' is
// a comment, unless a tab and a number follow.
void read_weights_text(ByteSource& source, Weights& weights, FeatureNames* names);

}  // namespace hopefear
