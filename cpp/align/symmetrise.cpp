#include "align/symmetrise.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "align/bitext.hpp"
#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace hopefear::align {
namespace {

constexpr uint32_t kMostWords = 1 << 20;  // a position beyond this is a mistake in the file

// The growing alignment: which points of the union are in, which words have a point.
class Growing {
 public:
  Growing(const Points& forward, const Points& reverse) {
    std::set_union(forward.begin(), forward.end(), reverse.begin(), reverse.end(),
                   std::back_inserter(all_));
    in_.resize(all_.size());
    uint32_t sources = 0, targets = 0;
    for (const Point& p : all_) {
      sources = std::max(sources, p.source + 1);
      targets = std::max(targets, p.target + 1);
    }
    source_.resize(sources);
    target_.resize(targets);
    Points both;
    std::set_intersection(forward.begin(), forward.end(), reverse.begin(), reverse.end(),
                          std::back_inserter(both));
    for (const Point& p : both) add(find(p));
  }

  // Candidates next to a point, with a word that has none yet.
  void grow() {
    for (bool more = true; more;) {
      more = false;
      for (size_t n = 0; n < all_.size(); ++n) {
        if (in_[n] || (has_source(n) && has_target(n)) || !has_neighbour(all_[n])) continue;
        add(n);
        more = true;
      }
    }
  }

  // Points of one direction with a word that has none yet (or both).
  void finish(const Points& direction, bool need_both) {
    for (const Point& p : direction) {
      const size_t n = find(p);
      if (in_[n]) continue;
      const bool free_source = !has_source(n), free_target = !has_target(n);
      if (need_both ? free_source && free_target : free_source || free_target) add(n);
    }
  }

  Points result() const {
    Points points;
    for (size_t n = 0; n < all_.size(); ++n) {
      if (in_[n]) points.push_back(all_[n]);
    }
    return points;
  }

 private:
  size_t find(const Point& p) const {  // the union's size if it is not there
    const auto at = std::lower_bound(all_.begin(), all_.end(), p);
    return at != all_.end() && *at == p ? static_cast<size_t>(at - all_.begin()) : all_.size();
  }
  bool has_source(size_t n) const { return source_[all_[n].source] != 0; }
  bool has_target(size_t n) const { return target_[all_[n].target] != 0; }
  void add(size_t n) {
    in_[n] = 1;
    source_[all_[n].source] = target_[all_[n].target] = 1;
  }
  bool has_neighbour(const Point& p) const {
    for (uint32_t di = 0; di < 3; ++di) {
      for (uint32_t dj = 0; dj < 3; ++dj) {
        // Position -1 wraps to a number that no point has.
        const size_t n = find({p.source + di - 1, p.target + dj - 1});
        if (n < all_.size() && in_[n]) return true;
      }
    }
    return false;
  }

  Points all_;
  std::vector<uint8_t> in_, source_, target_;
};

}  // namespace

Symmetrisation symmetrisation(std::string_view name) {
  if (name == "intersection" || name == "intersect") return Symmetrisation::intersection;
  if (name == "union") return Symmetrisation::union_;
  if (name == "grow-diag") return Symmetrisation::grow_diag;
  if (name == "grow-diag-final") return Symmetrisation::grow_diag_final;
  if (name == "grow-diag-final-and") return Symmetrisation::grow_diag_final_and;
  throw InputError("unknown symmetrisation '" + std::string(name) +
                   "'; choose from intersection, union, grow-diag, grow-diag-final, "
                   "grow-diag-final-and");
}

Points symmetrise(const Points& forward, const Points& reverse, Symmetrisation method) {
  Points result;
  if (method == Symmetrisation::intersection) {
    std::set_intersection(forward.begin(), forward.end(), reverse.begin(), reverse.end(),
                          std::back_inserter(result));
    return result;
  }
  if (method == Symmetrisation::union_) {
    std::set_union(forward.begin(), forward.end(), reverse.begin(), reverse.end(),
                   std::back_inserter(result));
    return result;
  }
  Growing growing(forward, reverse);
  growing.grow();
  if (method != Symmetrisation::grow_diag) {
    const bool need_both = method == Symmetrisation::grow_diag_final_and;
    growing.finish(forward, need_both);
    growing.finish(reverse, need_both);
  }
  return growing.result();
}

Points parse_points(std::string_view line, const std::string& place) {
  Points points;
  for_each_word(line, kBlanks, [&](std::string_view word) {
    Point p;
    const char* end = word.data() + word.size();
    auto read = std::from_chars(word.data(), end, p.source);
    bool good = read.ec == std::errc() && read.ptr != end && *read.ptr == '-';
    if (good) {
      read = std::from_chars(read.ptr + 1, end, p.target);
      good = read.ec == std::errc() && read.ptr == end;
    }
    if (!good || p.source >= kMostWords || p.target >= kMostWords) {
      throw InputError(place + ": " + shown(word) +
                       " is no alignment point; expected two word positions below " +
                       std::to_string(kMostWords) + " such as 0-0");
    }
    points.push_back(p);
  });
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

void write_points(const Points& points, std::string& out) {
  char digits[24];
  for (size_t n = 0; n < points.size(); ++n) {
    if (n > 0) out.push_back(' ');
    char* end = std::to_chars(digits, digits + 11, points[n].source).ptr;
    *end++ = '-';
    end = std::to_chars(end, end + 11, points[n].target).ptr;
    out.append(digits, end);
  }
}

uint64_t symmetrise_files(ByteSource& forward, ByteSource& reverse, Symmetrisation method,
                          ByteSink& out) {
  LineReader a(forward), b(reverse);
  BufferedSink sink(out);
  std::string_view line;
  std::string text;
  while (true) {
    Points points[2];
    const bool more_a = a.next(line);
    if (more_a) points[0] = parse_points(line, a.place());
    const bool more_b = b.next(line);
    if (more_b) points[1] = parse_points(line, b.place());
    if (more_a != more_b) {
      while (a.next(line)) {
      }
      while (b.next(line)) {
      }
      throw InputError(a.name() + " has " + std::to_string(a.line_number()) + " lines, " +
                       b.name() + " has " + std::to_string(b.line_number()) +
                       "; give the two directions of one text");
    }
    if (!more_a) break;
    if (a.line_number() % 4096 == 0) poll_interrupt();
    text.clear();
    write_points(symmetrise(points[0], points[1], method), text);
    text.push_back('\n');
    sink.write(text);
  }
  sink.flush();
  return a.line_number();
}

}  // namespace hopefear::align
