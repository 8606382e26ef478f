// Where features go. While decoding a sink sums weight * value; on replay it records the vector,
// and the names that were not seen before.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/sparse_vector.hpp"
#include "base/weights.hpp"

namespace hopefear::features {

struct Fired {
  FeatureId id;
  float value;
};

// Features whose names one FeatureNames surely has, so that they need not be handed over again: the
// newest of those with the same low bits. Any number of threads. 4 MB.
class RecentNames {
 public:
  RecentNames() : slots_(std::make_unique<std::atomic<FeatureId>[]>(kSlots)) {}
  bool has(FeatureId id) const { return slots_[id % kSlots].load(std::memory_order_relaxed) == id; }
  void add(FeatureId id) { slots_[id % kSlots].store(id, std::memory_order_relaxed); }

 private:
  static constexpr size_t kSlots = size_t{1} << 19;
  std::unique_ptr<std::atomic<FeatureId>[]> slots_;  // 0: empty
};

// Names that templates composed, kept until one thread hands them to the shared FeatureNames.
class NameLog {
 public:
  // `recent`: of the FeatureNames that move_to() will be given; may be null.
  explicit NameLog(std::shared_ptr<RecentNames> recent = nullptr) : recent_(std::move(recent)) {}
  void add(FeatureId id, std::string_view name) {
    if (recent_ == nullptr || !recent_->has(id)) add_new(id, name);
  }
  void move_to(FeatureNames& names);  // one thread at a time; empty afterwards
  size_t size() const { return names_.size(); }

 private:
  void add_new(FeatureId id, std::string_view name);
  std::shared_ptr<RecentNames> recent_;
  std::vector<std::string> names_;
  std::vector<FeatureId> seen_;  // slots of a hash set, 0 for empty
};

class Sink {
 public:
  // Sums only: `weights` is not owned.
  explicit Sink(const Weights& weights) : weights_(&weights) {}
  // Records: none of them owned; `names` may be null.
  Sink(std::vector<Fired>& record, NameLog* names) : record_(&record), names_(names) {}
  // Both at once.
  Sink(const Weights& weights, std::vector<Fired>& record, NameLog* names)
      : weights_(&weights), record_(&record), names_(names) {}

  // A feature whose id is known; its name must have reached the shared names by another way.
  void add(FeatureId id, float value) {
    if (weights_ != nullptr) score_ += static_cast<double>(weights_->get(id)) * value;
    if (record_ != nullptr) record_->push_back({id, value});
  }
  // A feature by its name; "NAME:part|part…" with the template's name first.
  void add(std::string_view name, float value) {
    const FeatureId id = feature_id(name);
    add(id, value);
    if (names_ != nullptr) names_->add(id, name);
  }
  // The same for a template that fires few features again and again in a sentence. `key` stands for
  // the feature among those of this template, a hash of its parts (numbers of words, say); only if
  // it is not remembered is `compose(name)` called, which appends the whole name to an empty
  // string: names are neither built nor hashed, nor weights looked up, for most of what fires.
  template <typename Compose>
  void add(const void* who, uint64_t key, float value, Compose&& compose) {
    if (memo_.empty()) memo_.resize(kRemembered);
    Remembered& entry = memo_[mix64(key) % kRemembered];
    if (entry.who != who || entry.key != key) {
      name_.clear();
      compose(name_);
      const FeatureId id = feature_id(name_);
      if (names_ != nullptr) names_->add(id, name_);
      entry = {who, key, id, weights_ != nullptr ? weights_->get(id) : 0.0F};
    }
    if (weights_ != nullptr) score_ += static_cast<double>(entry.weight) * value;
    if (record_ != nullptr) record_->push_back({entry.id, value});
  }
  // The same for features that do not come again soon, and would only push out others.
  template <typename Compose>
  void add_once(float value, Compose&& compose) {
    name_.clear();
    compose(name_);
    add(std::string_view(name_), value);
  }
  // The same for `count` features at once, numbered from 0: `compose(i, name)` appends the name of
  // the i-th, or says false if it does not fire. Weights are looked up together, which takes a
  // fraction of the time in a large table.
  template <typename Compose>
  void add_all(float value, size_t count, Compose&& compose) {
    ids_.clear();
    for (size_t i = 0; i < count; ++i) {
      name_.clear();
      if (!compose(i, name_)) continue;
      const FeatureId id = feature_id(name_);
      if (names_ != nullptr) names_->add(id, name_);
      ids_.push_back(id);
      if (record_ != nullptr) record_->push_back({id, value});
    }
    if (weights_ != nullptr) score_ += value * weights_->sum(ids_);
  }
  double score() const { return score_; }
  void reset() { score_ = 0; }

 private:
  const Weights* weights_ = nullptr;
  std::vector<Fired>* record_ = nullptr;
  NameLog* names_ = nullptr;
  double score_ = 0;
  // The newest feature of each slot. A sink lives for a sentence: its words have one number each,
  // and the weights do not change.
  struct Remembered {
    const void* who = nullptr;
    uint64_t key = 0;
    FeatureId id = 0;
    float weight = 0;
  };
  static constexpr size_t kRemembered = 4096;
  std::vector<Remembered> memo_;
  std::string name_;  // scratch
  std::vector<FeatureId> ids_;
};

// Appends "label:part|part…".
inline void compose(std::string& name, std::string_view label,
                    std::initializer_list<std::string_view> parts) {
  name += label;
  char between = ':';
  for (const std::string_view part : parts) {
    name += between;
    name += part;
    between = '|';
  }
}

// A key for Sink::add() from numbers.
inline uint64_t key_of(std::initializer_list<int32_t> numbers) {
  uint64_t key = 0;
  for (const int32_t number : numbers) key = combine64(key, static_cast<uint32_t>(number));
  return key;
}

}  // namespace hopefear::features
