// The sink that templates write features to. While decoding it sums weight * value; on replay it
// records the features and their new names.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/feature_name.hpp"
#include "base/prefix_hash.hpp"
#include "base/probing_table.hpp"
#include "base/sparse_vector.hpp"
#include "base/weights.hpp"

namespace hopefear::features {

struct Fired {
  FeatureId id;
  float value;
};

// A 4-way set-associative cache of features whose names are known to be in a FeatureNames, so that
// they need not be added again. Any number of threads may call has(), one add(). 8 MB, since tuning
// decodes the same set repeatedly, and a thousand sentences have a million features.
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
    size_t place = (id >> 40) % kWays;  // the entry to replace if all are in use
    for (size_t i = 0; i < kWays; ++i) {
      const FeatureId entry = first[i].load(std::memory_order_relaxed);
      if (entry == id) return;
      if (entry == 0) {
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

// Names that templates composed, until one thread moves them to the shared FeatureNames.
class NameLog {
 public:
  // `recent`: the cache of the FeatureNames passed to move_to(); may be null.
  explicit NameLog(std::shared_ptr<RecentNames> recent = nullptr) : recent_(std::move(recent)) {}
  // Only for names of these features, which must ascend and are borrowed.
  NameLog(std::shared_ptr<RecentNames> recent, std::span<const FeatureId> wanted)
      : recent_(std::move(recent)), wanted_(wanted), only_wanted_(true) {}
  void add(FeatureId id, std::string_view name) {
    if (recent_ == nullptr || !recent_->has(id)) add_new(id, name);
  }
  // Whether the name is known; may be false for a known name, never true for an unknown one.
  bool has(FeatureId id) const;
  void move_to(FeatureNames& names);  // for one thread at a time; empties the log
  // Moves only the names of these features, which must ascend.
  void move_to(FeatureNames& names, std::span<const FeatureId> features);
  size_t size() const { return names_.size(); }

 private:
  void add_new(FeatureId id, std::string_view name);
  std::shared_ptr<RecentNames> recent_;
  std::span<const FeatureId> wanted_;
  bool only_wanted_ = false;
  std::vector<std::string> names_;
  KeySet seen_;
};

// A cache of the ids and weights of features that fire repeatedly in a sentence, by a key of their
// parts, so that most features need no name, hash or weight look-up. For one sentence (with fixed
// word numbers), one thread and fixed weights.
class Memo {
 public:
  struct Entry {
    FeatureId id = 0;
    float weight = 0;
    bool named = false;  // the name is in the log
  };

  // `weights` is borrowed; null: all weights are 0.
  explicit Memo(const Weights* weights) : weights_(weights) {}
  float weight(FeatureId id) const { return weights_ == nullptr ? 0.0F : weights_->get(id); }

  double sum(std::span<const FeatureId> ids) const {  // the summed weights
    return weights_ == nullptr ? 0.0 : weights_->sum(ids);
  }

  // The entry of a key that is not 0; a new one has the id 0. Valid until the next call.
  Entry& at(uint64_t key) { return entries_.try_emplace(key).first; }
  // The prefixes and the tails of names of a key; empty for a new key. Valid as long as the memo.
  std::vector<PrefixHash>& prefixes(uint64_t key) { return prefixes_[key]; }
  std::vector<std::string>& tails(uint64_t key) { return tails_[key]; }
  // The number of a key that is not 0, and whether the key is new. Valid until the next call.
  std::pair<int32_t&, bool> number(uint64_t key) { return numbers_.try_emplace(key); }
  // The same for a score.
  std::pair<double&, bool> score(uint64_t key) { return scores_.try_emplace(key); }

 private:
  const Weights* weights_;
  // Starts small: clearing a table sized for the longest sentences would cost short sentences more
  // time than it saves.
  ProbingMap<Entry> entries_;
  std::unordered_map<uint64_t, std::vector<PrefixHash>> prefixes_;
  std::unordered_map<uint64_t, std::vector<std::string>> tails_;
  ProbingMap<int32_t> numbers_;
  ProbingMap<double> scores_;
};

class Sink {
 public:
  // Only sums; `weights` is borrowed.
  explicit Sink(const Weights& weights) : Sink(&weights, nullptr, nullptr) {}
  // Only records; the arguments are borrowed; `names` may be null.
  Sink(std::vector<Fired>& record, NameLog* names) : Sink(nullptr, &record, names) {}
  // Sums and records.
  Sink(const Weights& weights, std::vector<Fired>& record, NameLog* names)
      : Sink(&weights, &record, names) {}
  // Shares the cache of other sinks of the sentence. The arguments are borrowed; `record` and
  // `names` may be null. All sinks of a memo with names must have the same names.
  Sink(Memo& memo, std::vector<Fired>* record, NameLog* names)
      : memo_(&memo), record_(record), names_(names) {}

  // Adds a feature by id; its name must be added to the shared names elsewhere.
  void add(FeatureId id, float value) { put(id, memo_->weight(id), value); }
  // Adds a feature by its name, which must be valid (base/feature_name.hpp).
  void add(std::string_view name, float value) {
    const FeatureId id = feature_id(name);
    add(id, value);
    if (names_ != nullptr) names_->add(id, name);
  }
  // The same for a template whose features repeat in a sentence. `owner` identifies the template
  // and `key` its feature, a hash of the parts (word numbers, say); compose(name), which appends
  // the full name to an empty string, is called only if the feature is not in the cache.
  template <typename Compose>
  void add(const void* owner, uint64_t key, float value, Compose&& compose) {
    // A 64-bit hash identifies template and feature, like the hash of a name.
    const uint64_t both = combine64(reinterpret_cast<uintptr_t>(owner), key);
    Memo::Entry& entry = memo_->at(both == 0 ? 1 : both);
    if (entry.id == 0) {
      compose_name(compose);
      entry.id = feature_id(name_);
      entry.weight = memo_->weight(entry.id);
      if (names_ != nullptr) names_->add(entry.id, name_);
      entry.named = names_ != nullptr;
    } else if (names_ != nullptr && !entry.named) {
      if (!names_->has(entry.id)) {
        compose_name(compose);
        names_->add(entry.id, name_);
      }
      entry.named = true;
    }
    put(entry.id, entry.weight, value);
  }
  // The same for features that rarely repeat, without the cache.
  template <typename Compose>
  void add_once(float value, Compose&& compose) {
    compose_name(compose);
    add(std::string_view(name_), value);
  }
  // The same for `count` features at once, numbered from 0: compose(i, name) appends the name of
  // the i-th, or returns false if it does not fire. Weights are looked up together, which is much
  // faster in a large table.
  template <typename Compose>
  void add_all(float value, size_t count, Compose&& compose) {
    ids_.clear();
    for (size_t i = 0; i < count; ++i) {
      name_.clear();
      if (!compose(i, name_)) continue;
      if (!is_feature_name(name_)) name_ = as_feature_name(name_);
      const FeatureId id = feature_id(name_);
      if (names_ != nullptr) names_->add(id, name_);
      ids_.push_back(id);
      if (record_ != nullptr) record_->push_back({id, value});
    }
    score_ += value * memo_->sum(ids_);
  }
  // The same for features whose names have two parts: the i-th is a tail after prefix number
  // i * prefixes / tails. In search, a few rules and a few histories form millions of names.
  void add_all(float value, const std::vector<PrefixHash>& prefixes,
               const std::vector<std::string>& tails);
  // The first and second parts of the names of a template's features. `owner` identifies the
  // template and `key` the part; compose(i, text) appends the i-th of `count`, once per sentence.
  template <typename Compose>
  const std::vector<PrefixHash>& prefixes(const void* owner, uint64_t key, size_t count,
                                          Compose&& compose) {
    return composed(memo_->prefixes(combine64(reinterpret_cast<uintptr_t>(owner), key)), count,
                    compose);
  }
  template <typename Compose>
  const std::vector<std::string>& tails(const void* owner, uint64_t key, size_t count,
                                        Compose&& compose) {
    return composed(memo_->tails(combine64(reinterpret_cast<uintptr_t>(owner), key)), count,
                    compose);
  }
  // Whether features are recorded, or only their score is summed up.
  bool records() const { return record_ != nullptr || names_ != nullptr; }
  // Adds the score of features that a key determines; add(), which adds them, is called once per
  // sentence. `owner` and `key` as above. Only if nothing is recorded.
  template <typename Add>
  void add_known(const void* owner, uint64_t key, Add&& add) {
    const uint64_t both = combine64(reinterpret_cast<uintptr_t>(owner), key);
    const auto [score, is_new] = memo_->score(both == 0 ? 1 : both);
    if (is_new) {
      const double before = score_;
      score_ = 0;
      add();
      score = score_;
      score_ = before;
    }
    score_ += score;
  }
  // A number that a template has for a rule, such as that of the rule's text in the vocabulary.
  // `owner` and `key` as above; compute(text), with an empty string to compose in, is called once
  // per sentence.
  template <typename Compute>
  int32_t number(const void* owner, uint64_t key, Compute&& compute) {
    const uint64_t both = combine64(reinterpret_cast<uintptr_t>(owner), key);
    const auto [number, is_new] = memo_->number(both == 0 ? 1 : both);
    if (is_new) {
      name_.clear();
      number = compute(name_);
    }
    return number;
  }
  double score() const { return score_; }
  void reset() { score_ = 0; }

 private:
  Sink(const Weights* weights, std::vector<Fired>* record, NameLog* names)
      : own_(std::make_unique<Memo>(weights)), memo_(own_.get()), record_(record), names_(names) {}
  // Words may have control characters; names have none.
  template <typename Compose>
  void compose_name(Compose& compose) {
    name_.clear();
    compose(name_);
    if (!is_feature_name(name_)) name_ = as_feature_name(name_);
  }
  template <typename Part, typename Compose>
  const std::vector<Part>& composed(std::vector<Part>& parts, size_t count, Compose& compose) {
    for (size_t i = parts.size(); i < count; ++i) {
      auto append = [&](std::string& text) { compose(i, text); };
      compose_name(append);
      parts.emplace_back(name_);
    }
    return parts;
  }
  void put(FeatureId id, float weight, float value) {
    score_ += static_cast<double>(weight) * value;
    if (record_ != nullptr) record_->push_back({id, value});
  }

  std::unique_ptr<Memo> own_;  // null if shared with another sink
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

// A key for Sink::add() from numbers: one multiplication each, since the sink mixes the key again.
inline uint64_t key_of(std::initializer_list<int32_t> numbers) {
  uint64_t key = 0;
  for (const int32_t number : numbers) {
    key = (key ^ (key >> 29) ^ static_cast<uint32_t>(number)) * 0x9fb21c651e98df25ULL;
  }
  return key;
}

}  // namespace hopefear::features
