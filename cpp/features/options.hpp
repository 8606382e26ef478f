// The options of a template: values by name, passed by its Python class. A template takes its
// options; a missing, wrong or unknown option is an InputError that names the template, the option,
// its value and the expected type. Defaults are defined in Python only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace hopefear::features {

struct OptionValue {
  using List = std::vector<OptionValue>;
  std::variant<std::monostate, bool, int64_t, double, std::string, List> value;
};

// The value in Python notation, shortened.
std::string describe(const OptionValue& value);

// For each C++ type: the name of the Python type, and read(), which converts `from` and returns
// whether it has that type. Other types (a kind of list, say) are composed of these.
template <typename T>
struct OptionType {  // bool, int64_t, double, std::string
  static std::string name();
  static bool read(OptionValue& from, T& to) {
    T* const value = std::get_if<T>(&from.value);
    if (value != nullptr) to = std::move(*value);
    return value != nullptr;
  }
};

template <>
inline bool OptionType<double>::read(OptionValue& from, double& to) {
  if (const auto* integer = std::get_if<int64_t>(&from.value)) {
    to = static_cast<double>(*integer);
    return true;
  }
  const auto* value = std::get_if<double>(&from.value);
  if (value != nullptr) to = *value;
  return value != nullptr;
}

template <typename T>
struct OptionType<std::optional<T>> {
  static std::string name() { return OptionType<T>::name() + " | None"; }
  static bool read(OptionValue& from, std::optional<T>& to) {
    if (std::holds_alternative<std::monostate>(from.value)) return true;
    return OptionType<T>::read(from, to.emplace());
  }
};

template <typename T>
struct OptionType<std::vector<T>> {
  static std::string name() { return "list[" + OptionType<T>::name() + "]"; }
  static bool read(OptionValue& from, std::vector<T>& to) {
    auto* const list = std::get_if<OptionValue::List>(&from.value);
    if (list == nullptr) return false;
    to.reserve(list->size());
    for (OptionValue& value : *list) {
      if (!OptionType<T>::read(value, to.emplace_back())) return false;
    }
    return true;
  }
};

template <typename First, typename... Rest>
struct OptionType<std::tuple<First, Rest...>> {
  static std::string name() {
    return "tuple[" + (OptionType<First>::name() + ... + (", " + OptionType<Rest>::name())) + "]";
  }
  static bool read(OptionValue& from, std::tuple<First, Rest...>& to) {
    auto* const list = std::get_if<OptionValue::List>(&from.value);
    if (list == nullptr || list->size() != 1 + sizeof...(Rest)) return false;
    size_t at = 0;
    return std::apply(
        [&](auto&... each) {
          return (OptionType<std::remove_cvref_t<decltype(each)>>::read((*list)[at++], each) &&
                  ...);
        },
        to);
  }
};

class Options {
 public:
  using Values = std::map<std::string, OptionValue, std::less<>>;
  Options(std::string_view template_name, Values values)
      : template_name_(template_name), values_(std::move(values)) {}

  // Returns the value of an option. Each option is taken once.
  template <typename T>
  T take(std::string_view name) {
    OptionValue option = take_value(name, OptionType<T>::name());
    const std::string text = describe(option);
    T value{};
    if (!OptionType<T>::read(option, value)) fail(name, "found " + text, OptionType<T>::name());
    return value;
  }
  // InputError for an option that was not taken.
  void finish() const;
  // Throws the InputError for an option of the right type with an invalid value.
  [[noreturn]] void fail(std::string_view name, std::string_view problem,
                         std::string_view expected) const;

 private:
  OptionValue take_value(std::string_view name, std::string_view expected);
  std::string template_name_;
  Values values_;
  std::vector<std::string> taken_;
};

}  // namespace hopefear::features
