// WordEdges: combinations of the words at the edges of a rule use, at several levels of back-off.
// [yu2013]
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "features/feature.hpp"

namespace hopefear::features {

// What a combination is made of. The length is that of the source span, in words; it has no level.
enum class Edge : uint8_t {
  kBefore,       // the source word before the span
  kFirst,        // the first of the span
  kLast,         // the last of the span
  kAfter,        // the one behind it
  kTargetFirst,  // the first word of the target side, unless it is a nonterminal
  kTargetLast,
  kLength,
};
inline constexpr size_t kEdgeWords = 6;

enum class Level : uint8_t {
  kWord,
  kCharacter,  // the one nearest to the edge
  kCluster,    // the whole path
  kPrefix6,    // its first bits
  kPrefix4,
  kTag,
  kType,  // punctuation, digits, letters, other
};
inline constexpr size_t kLevels = 7;
inline constexpr std::string_view kLevelNames = "wcb64ty";
inline std::string_view level_name(Level level) {
  return kLevelNames.substr(static_cast<size_t>(level), 1);
}

struct EdgeAtom {
  Edge edge;
  Level level = Level::kWord;
};

struct EdgeCombination {
  std::string label;  // how its features are called
  std::vector<EdgeAtom> atoms;
};

// What is known of the words of a language; words that are in none are <unk>.
class WordClasses {
 public:
  struct Entry {
    std::string path, tag;  // empty: unknown
  };
  void add(std::string word, Entry entry) { entries_[std::move(word)] = std::move(entry); }
  const Entry* find(std::string_view word) const {
    const auto found = entries_.find(word);
    return found == entries_.end() ? nullptr : &found->second;
  }
  // The word itself, its cluster or its tag; no other levels.
  std::string_view at(std::string_view word, Level level) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view word) const { return hash64(word); }
  };
  std::unordered_map<std::string, Entry, Hash, std::equal_to<>> entries_;
};

std::shared_ptr<const Template> make_word_edges(std::string name,
                                                std::vector<EdgeCombination> combinations,
                                                WordClasses source, WordClasses target);

// "digits", "letters", "punctuation" or "other"; for tests.
std::string_view word_type(std::string_view word);

}  // namespace hopefear::features
