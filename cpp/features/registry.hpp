// The registry of the engine's templates. A template registers itself in its .cpp file:
//
//   const Registration<WordPairs> registration("word-pairs");
//
// Its class has a constructor (std::string name, Options& options), which takes its options. The
// engine is an object library, so the linker keeps every file, even if nothing refers to it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "features/feature.hpp"
#include "features/options.hpp"

namespace hopefear::features {

// Constructs a template; InputError for an unknown template or unknown, missing or wrong options.
std::shared_ptr<Template> make_template(std::string_view name, Options::Values values);

std::vector<std::string> template_names();  // ascending

using MakeTemplate = std::shared_ptr<Template> (*)(std::string name, Options& options);
void register_template(std::string name, MakeTemplate make);

template <typename T>
struct Registration {
  explicit Registration(std::string name) {
    register_template(std::move(name), [](std::string own, Options& options) {
      return std::static_pointer_cast<Template>(std::make_shared<T>(std::move(own), options));
    });
  }
};

}  // namespace hopefear::features
