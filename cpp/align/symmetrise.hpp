// Symmetrisation: one alignment from those of two directions [koehn2003, och2003].
//
// Identical to fast_align's atools (Moses grows in a different order in rare cases): candidates are
// visited by source, then target position, an accepted one takes effect immediately, and rounds are
// repeated until one adds nothing.
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
using Points = std::vector<Point>;  // an alignment; normal form: sorted, without repetitions

enum class Symmetrisation { intersection, union_, grow_diag, grow_diag_final, grow_diag_final_and };

// "intersection", "union", "grow-diag", ...; InputError for any other name.
Symmetrisation symmetrisation(std::string_view name);

// Takes and returns alignments in normal form. O(u log u) per round, where u is the size of the
// union.
Points symmetrise(const Points& forward, const Points& reverse, Symmetrisation method);

// Pharaoh format: "0-0 1-2", source-target. Parsing returns the normal form; `place` is for
// messages.
Points parse_points(std::string_view line, const std::string& place);
void write_points(const Points& points, std::string& out);  // appends, no line end

// Symmetrises two files line by line and returns the number of lines; InputError if their numbers
// of lines differ.
uint64_t symmetrise_files(ByteSource& forward, ByteSource& reverse, Symmetrisation method,
                          ByteSink& out);

}  // namespace hopefear::align
