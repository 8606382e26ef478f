// How Python names the dense features of a model (hopefear/features/dense.py).
#pragma once

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "bind/bind.hpp"
#include "lm/model.hpp"

namespace hopefear::bind {

using DenseFeature = std::pair<std::string, double>;        // its name in the model and its unit
using DenseFeatures = std::map<std::string, DenseFeature>;  // by the engine's names
using LmFeature = std::tuple<std::shared_ptr<lm::Model>, std::string, double>;

// The feature with a key; an empty name if the model lacks it.
inline DenseFeature feature_called(const DenseFeatures& features, const std::string& key) {
  const auto entry = features.find(key);
  return entry == features.end() ? DenseFeature("", 0) : entry->second;
}

}  // namespace hopefear::bind
