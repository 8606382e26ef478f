// WordEdges: combinations of the words at the edges of a rule use, at several levels of back-off.
// [yu2013]
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/error.hpp"
#include "features/registry.hpp"
#include "features/word_classes.hpp"

namespace hopefear::features {
namespace {

// The parts of a combination. The length is that of the source span in words; it has no level.
enum class Edge : uint8_t {
  kBefore,       // the source word before the span
  kFirst,        // the first of the span
  kLast,         // the last of the span
  kAfter,        // the source word after the span
  kTargetFirst,  // the first word of the target side, unless it is a nonterminal
  kTargetLast,
  kLength,
};
inline constexpr size_t kEdgeWords = 6;

struct EdgeAtom {
  Edge edge;
  Level level = Level::kWord;
};

// A combination as passed by the Python class: the name of its features, and its (edge, level)
// pairs by number.
using GivenCombination = std::tuple<std::string, std::vector<std::tuple<int64_t, int64_t>>>;

class WordEdges : public Template {
 public:
  WordEdges(std::string name, Options& options)
      : Template(std::move(name)),
        source_(options.take<WordClasses>("source")),
        target_(options.take<WordClasses>("target")) {
    for (auto& [label, atoms] : options.take<std::vector<GivenCombination>>("combinations")) {
      Combination made{name_ + ":" + label, {}, 0};
      for (const auto& [edge_number, level_number] : atoms) {
        if (edge_number < 0 || edge_number > static_cast<int64_t>(kEdgeWords) || level_number < 0 ||
            level_number >= static_cast<int64_t>(kLevels)) {
          options.fail("combinations", "no such edge or level in " + shown(label),
                       "numbers of EDGES and LEVELS");
        }
        const auto edge = static_cast<Edge>(edge_number);
        const auto level = static_cast<Level>(level_number);
        made.atoms.push_back({edge, level});
        if (edge == Edge::kLength) continue;
        made.edges |= 1U << static_cast<unsigned>(edge);
        needed_[static_cast<size_t>(edge)] |= 1U << static_cast<unsigned>(level);
      }
      combinations_.push_back(std::move(made));
    }
    for (size_t i = 0; i < combinations_.size(); ++i) {
      all_.push_back(i);
      groups_[target_edges(combinations_[i].edges)].push_back(i);
    }
  }
  bool needs_tags() const override {
    const unsigned tag = 1U << static_cast<unsigned>(Level::kTag);
    return std::any_of(needed_.begin(), needed_.begin() + static_cast<size_t>(Edge::kTargetFirst),
                       [&](unsigned wanted) { return (wanted & tag) != 0; });
  }

  // Each combination is a different name that rarely repeats: names are composed from pieces that
  // are computed once per use, hashed, and looked up together, so that the cache misses of the
  // look-ups overlap.
  void fire(const RuleUse& use, Sink& sink) const override {
    if (use.rule == kPassThrough) return;
    Pieces pieces;
    if (sink.records()) {
      collect(use, pieces);
      fire(use, pieces, all_, sink);
      return;
    }
    // Rules of the same span often begin or end with the same target word, and many combinations
    // see nothing else of the target side: half of the names need not be composed.
    bool collected = false;
    for (unsigned group = 0; group < kGroups; ++group) {
      const std::span<const int32_t> target = use.target_side;
      const bool none = target.empty();
      const int32_t first = (group & 1) == 0 ? kUnseen : none ? kNoWord : target.front();
      const int32_t last = (group & 2) == 0 ? kUnseen : none ? kNoWord : target.back();
      const uint64_t key =
          key_of({static_cast<int32_t>(group), use.span.begin, use.span.end, first, last});
      sink.add_known(this, key, [&] {
        if (!collected) collect(use, pieces);
        collected = true;
        fire(use, pieces, groups_[group], sink);
      });
    }
  }

 private:
  struct Combination {
    std::string head;  // the template's name and the combination's
    std::vector<EdgeAtom> atoms;
    unsigned edges;  // a bit per edge that it needs
  };
  struct Pieces {
    std::array<std::array<std::string_view, kLevels>, kEdgeWords> of;
    unsigned missing = 0;  // a bit per edge that this use lacks
  };
  static constexpr unsigned kGroups = 4;  // by the two target edges that a combination needs
  static constexpr int32_t kUnseen = INT32_MIN, kNoWord = INT32_MIN + 1;
  static unsigned target_edges(unsigned edges) {
    return edges >> static_cast<unsigned>(Edge::kTargetFirst) & (kGroups - 1);
  }

  // Fires some combinations, by their numbers.
  void fire(const RuleUse& use, const Pieces& pieces, std::span<const size_t> numbers,
            Sink& sink) const {
    const std::string length = std::to_string(use.span.end - use.span.begin);
    sink.add_all(1, numbers.size(), [&](size_t i, std::string& text) {
      const Combination& combination = combinations_[numbers[i]];
      if ((combination.edges & pieces.missing) != 0) return false;
      text += combination.head;
      for (const EdgeAtom& atom : combination.atoms) {
        text += '|';
        text += atom.edge == Edge::kLength
                    ? std::string_view(length)
                    : pieces.of[static_cast<size_t>(atom.edge)][static_cast<size_t>(atom.level)];
      }
      return true;
    });
  }

  void collect(const RuleUse& use, Pieces& pieces) const {
    const Source& source = *use.source;
    const auto size = static_cast<int32_t>(source.words.size());
    const auto at = [&](Edge edge, int32_t place) {
      if (place < 0 || place >= size) {
        pieces.of[static_cast<size_t>(edge)].fill(place < 0 ? "<s>" : "</s>");
        return;
      }
      const std::string_view word =
          source.vocabulary->word(source.words[static_cast<size_t>(place)]);
      const std::string_view tag =
          source.tags.empty() ? std::string_view()
                              : source.vocabulary->word(source.tags[static_cast<size_t>(place)]);
      describe(edge, word, source_, tag, pieces);
    };
    at(Edge::kBefore, use.span.begin - 1);
    at(Edge::kFirst, use.span.begin);
    at(Edge::kLast, use.span.end - 1);
    at(Edge::kAfter, use.span.end);
    const auto target = [&](Edge edge, const int32_t* symbol) {
      if (symbol == nullptr || *symbol < 0) {
        pieces.missing |= 1U << static_cast<unsigned>(edge);
      } else {
        describe(edge, source.vocabulary->word(*symbol), target_, {}, pieces);
      }
    };
    const bool none = use.target_side.empty();
    target(Edge::kTargetFirst, none ? nullptr : &use.target_side.front());
    target(Edge::kTargetLast, none ? nullptr : &use.target_side.back());
  }

  // Computes the levels that some combination needs. `tag`: of the word in its sentence, or empty.
  void describe(Edge edge, std::string_view word, const WordClasses& classes, std::string_view tag,
                Pieces& pieces) const {
    const unsigned wanted = needed_[static_cast<size_t>(edge)];
    auto& of = pieces.of[static_cast<size_t>(edge)];
    const auto wants = [&](Level level) {
      return (wanted >> static_cast<unsigned>(level) & 1) != 0;
    };
    const auto piece = [&](Level level) -> std::string_view& {
      return of[static_cast<size_t>(level)];
    };
    piece(Level::kWord) = word;
    if (wants(Level::kCharacter)) {
      const bool from_left = edge == Edge::kFirst || edge == Edge::kAfter;
      piece(Level::kCharacter) = from_left ? first_character(word) : last_character(word);
    }
    if (wants(Level::kType)) piece(Level::kType) = word_type(word);
    if (!wants(Level::kCluster) && !wants(Level::kPrefix6) && !wants(Level::kPrefix4) &&
        !wants(Level::kTag))
      return;
    const WordClasses::Entry* entry = classes.find(word);
    for (const Level level : {Level::kCluster, Level::kPrefix6, Level::kPrefix4, Level::kTag})
      piece(level) = WordClasses::class_at(entry, level);
    if (!tag.empty()) piece(Level::kTag) = tag;
  }

  std::vector<Combination> combinations_;
  std::vector<size_t> all_;
  std::array<std::vector<size_t>, kGroups> groups_;  // their numbers, in order
  std::array<unsigned, kEdgeWords> needed_{};        // a bit per level that some combination needs
  WordClasses source_, target_;
};

const Registration<WordEdges> registration("word-edges");

}  // namespace
}  // namespace hopefear::features
