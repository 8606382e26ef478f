#include "rules/rule_counts.hpp"

#include <algorithm>

namespace hopefear::rules {
namespace {

struct Header {
  double joint;
  uint32_t occurrences, sentence, label;
  uint16_t fragment;
  uint8_t source, target;
  uint16_t links, source_links;
  uint16_t oriented;
};

template <typename T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <typename T>
void read_into(ScratchStream& stream, size_t size, std::vector<T>& values) {
  values.resize(size);
  stream.read(values.data(), size * sizeof(T));
}

// Whether a is larger than b; both are compared as a vector over the words of one side, whose
// elements are the lists of linked words of the other side. Both are sorted by that side first. A
// list is larger than its prefixes.
template <typename Place, typename Other>
bool larger(const std::vector<Link>& a, const std::vector<Link>& b, Place place, Other other) {
  for (size_t i = 0;; ++i) {
    if (i == a.size() || i == b.size()) return a.size() > b.size();
    // Where the words differ, the list of one has ended (or is empty) at the lower word, while the
    // list of the other continues.
    if (place(a[i]) != place(b[i])) return place(a[i]) < place(b[i]);
    if (other(a[i]) != other(b[i])) return other(a[i]) > other(b[i]);
  }
}

constexpr auto source_of = [](const Link& link) { return link.source; };
constexpr auto target_of = [](const Link& link) { return link.target; };

std::vector<Link> by_source(std::vector<Link> links) {
  std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) {
    return a.source != b.source ? a.source < b.source : a.target < b.target;
  });
  return links;
}

}  // namespace

void RuleCounts::write(ScratchStream& stream) const {
  const bool same = links == source_links;
  const bool oriented = backward != std::array<uint32_t, 3>{} || forward != backward;
  const Header header = {joint,
                         occurrences,
                         sentence,
                         label,
                         static_cast<uint16_t>(fragment.size()),
                         static_cast<uint8_t>(source.size()),
                         static_cast<uint8_t>(target.size()),
                         static_cast<uint16_t>(links.size()),
                         static_cast<uint16_t>(same ? 0 : source_links.size()),
                         static_cast<uint16_t>(oriented)};
  stream.write({reinterpret_cast<const char*>(&header), sizeof(header)});
  stream.write(bytes_of(source));
  stream.write(bytes_of(target));
  stream.write(bytes_of(links));
  if (!same) stream.write(bytes_of(source_links));
  stream.write(bytes_of(fragment));
  for (const auto& counts : {backward, forward}) {
    if (oriented) stream.write({reinterpret_cast<const char*>(counts.data()), sizeof(counts)});
  }
}

void RuleCounts::read(ScratchStream& stream) {
  Header header;
  stream.read(&header, sizeof(header));
  joint = header.joint;
  occurrences = header.occurrences;
  sentence = header.sentence;
  label = header.label;
  read_into(stream, header.source, source);
  read_into(stream, header.target, target);
  read_into(stream, header.links, links);
  if (header.source_links > 0) {
    read_into(stream, header.source_links, source_links);
  } else {
    source_links = links;
  }
  read_into(stream, header.fragment, fragment);
  backward = forward = {};
  if (header.oriented != 0) {
    stream.read(backward.data(), sizeof(backward));
    stream.read(forward.data(), sizeof(forward));
  }
}

void AlignmentVotes::add(std::string_view bytes, double count) {
  const auto same = [&](const std::vector<Link>& links) {
    if (2 * links.size() != bytes.size()) return false;
    for (size_t i = 0; i < links.size(); ++i) {
      if (links[i].target != static_cast<uint8_t>(bytes[2 * i]) ||
          links[i].source != static_cast<uint8_t>(bytes[2 * i + 1])) {
        return false;
      }
    }
    return true;
  };
  // Occurrences come sorted by alignment: this alignment is the last one or new.
  if (size_ > 0 && same(votes_[size_ - 1].links)) {
    votes_[size_ - 1].count += count;
    return;
  }
  if (size_ == votes_.size()) votes_.emplace_back();
  Vote& vote = votes_[size_++];
  vote.count = count;
  vote.links.clear();
  for (size_t i = 0; i < bytes.size(); i += 2) {
    vote.links.push_back({static_cast<uint8_t>(bytes[i + 1]), static_cast<uint8_t>(bytes[i])});
  }
}

void AlignmentVotes::decide(RuleCounts& pair) const {
  const Vote* best = &votes_[0];
  const Vote* source_best = best;
  for (size_t i = 1; i < size_; ++i) {
    const Vote& vote = votes_[i];
    if (vote.count > best->count) {
      best = source_best = &vote;
    } else if (vote.count == best->count) {
      if (larger(vote.links, best->links, target_of, source_of)) best = &vote;
      if (larger(by_source(vote.links), by_source(source_best->links), source_of, target_of)) {
        source_best = &vote;
      }
    }
  }
  pair.links = best->links;
  pair.source_links = source_best->links;
}

}  // namespace hopefear::rules
