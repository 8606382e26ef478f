// The engine's templates by name. A template registers itself: its .cpp file has a line
//
//   const Registration<WordPairs> registration("word-pairs");
//
// and its class a constructor (std::string name, Options& options) that takes its options. The
// build links every object file of the engine (an object library), so that none is left out because
// nothing else refers to it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "features/feature.hpp"
#include "features/options.hpp"

namespace hopefear::features {

// Throws InputError if the engine has no such template, or if the options are not its own.
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
