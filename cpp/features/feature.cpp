#include "features/feature.hpp"

namespace hopefear::features {

void Template::fire(const RuleUse&, Sink&) const {}
void Template::fire_gaps(const RuleUse&, Sink&) const {}
void Template::begin(std::byte*) const {}
void Template::step(const Step&, Sink&, std::byte*) const {}
void Template::finish(const Source&, const std::byte*, bool, Sink&) const {}

}  // namespace hopefear::features
