#include "features/options.hpp"

#include <sstream>

#include "base/error.hpp"

namespace hopefear::features {
namespace {

void write(const OptionValue& given, std::ostream& out) {
  struct Write {
    std::ostream& out;
    void operator()(std::monostate) const { out << "None"; }
    void operator()(bool value) const { out << (value ? "True" : "False"); }
    void operator()(int64_t value) const { out << value; }
    void operator()(double value) const { out << value; }
    void operator()(const std::string& value) const { out << shown(value); }
    void operator()(const OptionValue::List& list) const {
      constexpr size_t kMost = 3;
      out << '[';
      for (size_t i = 0; i < list.size() && i < kMost; ++i) {
        if (i > 0) out << ", ";
        std::visit(*this, list[i].value);
      }
      out << (list.size() > kMost ? ", …]" : "]");
    }
  };
  std::visit(Write{out}, given.value);
}

}  // namespace

std::string describe(const OptionValue& value) {
  std::ostringstream text;
  write(value, text);
  return text.str();
}

template <>
std::string OptionType<bool>::name() {
  return "bool";
}
template <>
std::string OptionType<int64_t>::name() {
  return "int";
}
template <>
std::string OptionType<double>::name() {
  return "float";
}
template <>
std::string OptionType<std::string>::name() {
  return "str";
}

OptionValue Options::take_value(std::string_view name, std::string_view expected) {
  const auto found = values_.find(name);
  if (found == values_.end()) fail(name, "not given", expected);
  OptionValue value = std::move(found->second);
  values_.erase(found);
  taken_.emplace_back(name);
  return value;
}

void Options::finish() const {
  if (values_.empty()) return;
  std::string known;
  for (const std::string& name : taken_) known += (known.empty() ? "" : ", ") + name;
  const std::string expected = known.empty() ? "no options" : "no more than " + known;
  fail(values_.begin()->first, "unknown option", expected);
}

void Options::fail(std::string_view name, std::string_view problem,
                   std::string_view expected) const {
  std::ostringstream message;
  message << "feature template " << template_name_ << ": option " << name << ": " << problem
          << ", expected " << expected << "; correct engine_options() of its Python class";
  throw InputError(message.str());
}

}  // namespace hopefear::features
