// Arrays and words between the engine and Python.
#pragma once

#include <nanobind/ndarray.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bind/bind.hpp"

namespace hopefear::bind {

template <typename T>
using InArray = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using OutArray = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <typename T>
using OutView = nb::ndarray<nb::numpy, const T, nb::ndim<1>>;

template <typename T>
std::span<const T> span_of(const InArray<T>& array) {
  return {array.data(), array.size()};
}

// Read-only; `owner` lives as long as the array does.
template <typename T>
OutView<T> view_array(std::span<const T> data, nb::handle owner) {
  return OutView<T>(data.data(), {data.size()}, owner);
}

// The array takes over the vector.
template <typename T>
OutArray<T> own_array(std::vector<T>&& data) {
  auto* held = new std::vector<T>(std::move(data));
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return OutArray<T>(held->data(), {held->size()}, owner);
}

// Words may be any bytes: those that are not UTF-8 become surrogate escapes in Python and are
// restored on the way back.
nb::str to_python(std::string_view text);
std::string from_python(nb::str text);

}  // namespace hopefear::bind
