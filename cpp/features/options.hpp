// The options of a template, as its Python half gives them: values by name. A template takes those
// that it has; a missing, a wrong and an unknown one is an InputError that names the template, the
// option, the value and the type that is expected. There are no defaults here: those of the Python
// half are the only ones.
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

// How Python writes the value, shortened.
std::string describe(const OptionValue& value);

// For each C++ type: the Python type that it stands for, and whether `from` has it. What is not
// here (a further kind of list, say) is made of these.
template <typename T>
struct OptionType {  // bool, int64_t, double, std::string
  static std::string name();
  static bool read(OptionValue& from, T& to) {
    T* const given = std::get_if<T>(&from.value);
    if (given != nullptr) to = std::move(*given);
    return given != nullptr;
  }
};

template <>
inline bool OptionType<double>::read(OptionValue& from, double& to) {
  if (const auto* whole = std::get_if<int64_t>(&from.value)) {
    to = static_cast<double>(*whole);
    return true;
  }
  const auto* given = std::get_if<double>(&from.value);
  if (given != nullptr) to = *given;
  return given != nullptr;
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

  // An option's value. Each option is taken once.
  template <typename T>
  T take(std::string_view name) {
    OptionValue given = take_value(name, OptionType<T>::name());
    const std::string text = describe(given);
    T value{};
    if (!OptionType<T>::read(given, value)) fail(name, "found " + text, OptionType<T>::name());
    return value;
  }
  // Throws for an option that nobody took.
  void finish() const;
  // Throws the InputError for an option of the right type whose value is not a possible one.
  [[noreturn]] void fail(std::string_view name, std::string_view problem,
                         std::string_view expected) const;

 private:
  OptionValue take_value(std::string_view name, std::string_view expected);
  std::string template_name_;
  Values values_;
  std::vector<std::string> taken_;
};

}  // namespace hopefear::features
