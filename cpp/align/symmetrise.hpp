// One alignment out of two directions' [koehn2003, och2003].
//
// Exactly as fast_align's atools does it (Moses's own order of growing differs in rare cases): the
// candidates are visited by source, then target position, an accepted one counts at once, and the
// rounds go on until one adds nothing.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/io.hpp"

namespace hopefear::align {

struct Point {
  uint32_t source, target;
  auto operator<=>(const Point&) const = default;
};
using Points = std::vector<Point>;  // an alignment; "normal" is sorted, each point once

enum class Symmetrisation { intersection, union_, grow_diag, grow_diag_final, grow_diag_final_and };

// "intersection", "union", "grow-diag", ...; InputError for another.
Symmetrisation symmetrisation(std::string_view name);

// Both normal; so is the result. O(u log u) per round, u the size of the union.
Points symmetrise(const Points& forward, const Points& reverse, Symmetrisation method);

// Pharaoh format: "0-0 1-2", source-target. Reading makes normal; `place` is for messages.
Points parse_points(std::string_view line, const std::string& place);
void write_points(const Points& points, std::string& out);  // appends, no line end

// Two files into one, line by line; InputError if their numbers of lines differ.
uint64_t symmetrise_files(ByteSource& forward, ByteSource& reverse, Symmetrisation method,
                          ByteSink& out);

}  // namespace hopefear::align
