// Where features go. While decoding a sink sums weight * value; on replay it records the vector,
// and the names that were not seen before.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/probing_table.hpp"
#include "base/sparse_vector.hpp"
#include "base/weights.hpp"

namespace hopefear::features {

struct Fired {
  FeatureId id;
  float value;
};

// Features whose names one FeatureNames surely has, so that they need not be handed over again:
// four of those with the same low bits. Any number of threads may ask, one adds.
// 8 MB: tuning decodes a set again and again, and a thousand sentences have a million features.
class RecentNames {
 public:
  RecentNames() : slots_(std::make_unique<std::atomic<FeatureId>[]>(kSlots)) {}
  bool has(FeatureId id) const {
    const std::atomic<FeatureId>* const first = &slots_[id * kWays % kSlots];
    for (size_t i = 0; i < kWays; ++i) {
      if (first[i].load(std::memory_order_relaxed) == id) return true;
    }
    return false;
  }
  void add(FeatureId id) {
    std::atomic<FeatureId>* const first = &slots_[id * kWays % kSlots];
    size_t place = (id >> 40) % kWays;  // whom to push out, if all are there
    for (size_t i = 0; i < kWays; ++i) {
      const FeatureId there = first[i].load(std::memory_order_relaxed);
      if (there == id) return;
      if (there == 0) {
        place = i;
        break;
      }
    }
    first[place].store(id, std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kSlots = size_t{1} << 20, kWays = 4;
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
  // Whether add() would change nothing. False may be wrong, true never is.
  bool has(FeatureId id) const;
  void move_to(FeatureNames& names);  // one thread at a time; empty afterwards
  // Only those of these features, which ascend.
  void move_to(FeatureNames& names, std::span<const FeatureId> wanted);
  size_t size() const { return names_.size(); }

 private:
  void add_new(FeatureId id, std::string_view name);
  std::shared_ptr<RecentNames> recent_;
  std::vector<std::string> names_;
  KeySet seen_;
};

// Features that fire again and again in a sentence, by what stands for them: ids and weights, so
// that names are neither built nor hashed, nor weights looked up, for most of what fires. For one
// sentence, whose words have one number each, and one thread; the weights must not change.
class Memo {
 public:
  struct Entry {
    FeatureId id = 0;
    float weight = 0;
    bool named = false;  // the name is in the log
  };

  // Not owned; null: all weights are 0.
  explicit Memo(const Weights* weights) : weights_(weights) {}
  float weight(FeatureId id) const { return weights_ == nullptr ? 0.0F : weights_->get(id); }

  double sum(std::span<const FeatureId> ids) const {  // of their weights
    return weights_ == nullptr ? 0.0 : weights_->sum(ids);
  }

  // The entry of a key that is not 0; a new one has the id 0. Valid until the next call.
  Entry& at(uint64_t key) { return entries_.try_emplace(key).first; }

 private:
  const Weights* weights_;
  // Small at first: a table for the longest sentences would cost short ones more to clear than it
  // saves them.
  ProbingMap<Entry> entries_;
};

class Sink {
 public:
  // Sums only: `weights` is not owned.
  explicit Sink(const Weights& weights) : Sink(&weights, nullptr, nullptr) {}
  // Records: none of them owned; `names` may be null.
  Sink(std::vector<Fired>& record, NameLog* names) : Sink(nullptr, &record, names) {}
  // Both at once.
  Sink(const Weights& weights, std::vector<Fired>& record, NameLog* names)
      : Sink(&weights, &record, names) {}
  // With what another sink of the sentence remembered. None owned; the last two may be null. All
  // sinks of a memo that have names must have the same.
  Sink(Memo& memo, std::vector<Fired>* record, NameLog* names)
      : memo_(&memo), record_(record), names_(names) {}

  // A feature whose id is known; its name must have reached the shared names by another way.
  void add(FeatureId id, float value) { put(id, memo_->weight(id), value); }
  // A feature by its name; "NAME:part|part…" with the template's name first.
  void add(std::string_view name, float value) {
    const FeatureId id = feature_id(name);
    add(id, value);
    if (names_ != nullptr) names_->add(id, name);
  }
  // The same for a template that fires few features again and again in a sentence. `key` stands for
  // the feature among those of this template, a hash of its parts (numbers of words, say); only if
  // it is not remembered is `compose(name)` called, which appends the whole name to an empty
  // string.
  template <typename Compose>
  void add(const void* who, uint64_t key, float value, Compose&& compose) {
    // 64 bits stand for the template and the feature, as they do for a feature's name.
    const uint64_t both = combine64(reinterpret_cast<uintptr_t>(who), key);
    Memo::Entry& entry = memo_->at(both == 0 ? 1 : both);
    if (entry.id == 0) {
      name_.clear();
      compose(name_);
      entry.id = feature_id(name_);
      entry.weight = memo_->weight(entry.id);
      if (names_ != nullptr) names_->add(entry.id, name_);
      entry.named = names_ != nullptr;
    } else if (names_ != nullptr && !entry.named) {
      if (!names_->has(entry.id)) {
        name_.clear();
        compose(name_);
        names_->add(entry.id, name_);
      }
      entry.named = true;
    }
    put(entry.id, entry.weight, value);
  }
  // The same for features that do not come again soon, and need not be remembered.
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
    score_ += value * memo_->sum(ids_);
  }
  double score() const { return score_; }
  void reset() { score_ = 0; }

 private:
  Sink(const Weights* weights, std::vector<Fired>* record, NameLog* names)
      : own_(std::make_unique<Memo>(weights)), memo_(own_.get()), record_(record), names_(names) {}
  void put(FeatureId id, float weight, float value) {
    score_ += static_cast<double>(weight) * value;
    if (record_ != nullptr) record_->push_back({id, value});
  }

  std::unique_ptr<Memo> own_;  // null if it is another's
  Memo* memo_;
  std::vector<Fired>* record_;
  NameLog* names_;
  double score_ = 0;
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

// A key for Sink::add() from numbers. The sink mixes it well; here one multiplication each.
inline uint64_t key_of(std::initializer_list<int32_t> numbers) {
  uint64_t key = 0;
  for (const int32_t number : numbers) {
    key = (key ^ (key >> 29) ^ static_cast<uint32_t>(number)) * 0x9fb21c651e98df25ULL;
  }
  return key;
}

}  // namespace hopefear::features
