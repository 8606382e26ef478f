// Classes of words for back-off: characters, type, Brown clusters and parts of speech.  [yu2013]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/hash.hpp"
#include "features/options.hpp"
#include "features/word_set.hpp"

namespace hopefear::features {

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

// The clusters and tags of the words of a language; words without an entry are <unk>.
class WordClasses {
 public:
  struct Entry {
    std::string path, tag;  // empty: unknown
  };
  void add(std::string word, Entry entry) { entries_[std::move(word)] = std::move(entry); }
  const Entry* find(std::string_view word) const {
    const auto entry = entries_.find(word);
    return entry == entries_.end() ? nullptr : &entry->second;
  }
  // The word itself, its cluster or its tag; no other levels.
  std::string_view at(std::string_view word, Level level) const {
    return level == Level::kWord ? word : class_at(find(word), level);
  }
  // The cluster or tag of an entry; null: of a word without an entry.
  static std::string_view class_at(const Entry* entry, Level level) {
    if (entry == nullptr) return kOther;
    const std::string_view found = level == Level::kTag ? entry->tag : entry->path;
    if (found.empty()) return kOther;
    if (level == Level::kPrefix6) return found.substr(0, 6);
    if (level == Level::kPrefix4) return found.substr(0, 4);
    return found;
  }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view word) const { return hash64(word); }
  };
  std::unordered_map<std::string, Entry, Hash, std::equal_to<>> entries_;
};

// Options: (word, path, tag) for each word.
template <>
struct OptionType<WordClasses> {
  using Rows = std::vector<std::tuple<std::string, std::string, std::string>>;
  static std::string name() { return OptionType<Rows>::name(); }
  static bool read(OptionValue& from, WordClasses& to) {
    Rows rows;
    if (!OptionType<Rows>::read(from, rows)) return false;
    for (auto& [word, path, tag] : rows) {
      to.add(std::move(word), {std::move(path), std::move(tag)});
    }
    return true;
  }
};

// The characters at the two ends of a word.
std::string_view first_character(std::string_view word);
std::string_view last_character(std::string_view word);

// "digits", "letters", "punctuation" or "other"; for tests.
std::string_view word_type(std::string_view word);

}  // namespace hopefear::features
