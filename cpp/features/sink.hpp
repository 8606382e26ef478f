// Where features go. While decoding a sink sums weight * value; on replay it records the vector,
// and the names that were not seen before.
#pragma once

#include <cstdint>
#include <initializer_list>
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

// Names that templates composed, kept until one thread hands them to the shared FeatureNames.
class NameLog {
 public:
  void add(FeatureId id, std::string_view name);
  void move_to(FeatureNames& names);  // one thread at a time; empty afterwards
  size_t size() const { return names_.size(); }

 private:
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
  // The same, composed of the template's name and parts in memory that is used again.
  void add(std::string_view label, std::initializer_list<std::string_view> parts, float value) {
    std::string& name = begin(label);
    char between = ':';
    for (const std::string_view part : parts) {
      name += between;
      name += part;
      between = '|';
    }
    add(std::string_view(name), value);
  }
  // For names of many parts: begin with the template's name, append, add what is there.
  std::string& begin(std::string_view label) {
    name_.assign(label);
    return name_;
  }
  void add_begun(float value) { add(std::string_view(name_), value); }

  double score() const { return score_; }
  void reset() { score_ = 0; }

 private:
  const Weights* weights_ = nullptr;
  std::vector<Fired>* record_ = nullptr;
  NameLog* names_ = nullptr;
  double score_ = 0;
  std::string name_;  // scratch
};

}  // namespace hopefear::features
