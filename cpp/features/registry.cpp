#include "features/registry.hpp"

#include <map>
#include <stdexcept>

#include "base/error.hpp"

namespace hopefear::features {
namespace {

// A local static variable: constructed before the first registration, whatever the order of
// initialisation of files.
std::multimap<std::string, MakeTemplate, std::less<>>& registered() {
  static std::multimap<std::string, MakeTemplate, std::less<>> templates;
  return templates;
}

}  // namespace

void register_template(std::string name, MakeTemplate make) {
  registered().emplace(std::move(name), make);
}

std::shared_ptr<Template> make_template(std::string_view name, Options::Values values) {
  const auto [first, last] = registered().equal_range(name);
  if (first == last) {
    std::string names;
    for (const std::string& known : template_names()) names += (names.empty() ? "" : ", ") + known;
    throw InputError("feature template " + std::string(name) + ": not in the engine, which has " +
                     names);
  }
  if (std::next(first) != last) {
    throw std::logic_error("feature template " + std::string(name) + " is registered twice");
  }
  Options options(name, std::move(values));
  std::shared_ptr<Template> made = first->second(std::string(name), options);
  options.finish();
  return made;
}

std::vector<std::string> template_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : registered()) names.push_back(name);
  return names;
}

}  // namespace hopefear::features
