#include "features/word_edges.hpp"

#include <algorithm>

#include "features/word_set.hpp"

namespace hopefear::features {
namespace {

// The code point at the front, and its bytes; a byte that is no UTF-8 stands for itself.
struct Point {
  uint32_t value = 0;
  size_t size = 1;
};

Point front(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (lead < 0xc0 || size > text.size()) return {lead, 1};
  uint32_t value = lead & (0xffU >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {lead, 1};
    value = value << 6 | (byte(i) & 0x3f);
  }
  return {value, size};
}

bool is_digit(uint32_t c) { return (c >= '0' && c <= '9') || (c >= 0xff10 && c <= 0xff19); }

bool is_letter(uint32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= 0xff21 && c <= 0xff3a) ||
         (c >= 0xff41 && c <= 0xff5a);
}

bool is_punctuation(uint32_t c) {
  if (c < 0x80) return c > 0x20 && c != 0x7f && !is_digit(c) && !is_letter(c);
  return (c >= 0xa1 && c <= 0xbf) || (c >= 0x2000 && c <= 0x206f) || (c >= 0x3000 && c <= 0x303f) ||
         (c >= 0xff01 && c <= 0xff65 && !is_digit(c) && !is_letter(c));
}

std::string_view first_character(std::string_view word) {
  return word.substr(0, word.empty() ? 0 : front(word).size);
}

std::string_view last_character(std::string_view word) {
  size_t begin = word.size();
  while (begin > 0) {
    --begin;
    if ((static_cast<unsigned char>(word[begin]) & 0xc0) != 0x80) break;
  }
  return word.substr(begin);
}

std::string_view class_at(const WordClasses::Entry* entry, Level level) {
  if (entry == nullptr) return kOther;
  const std::string_view found = level == Level::kTag ? entry->tag : entry->path;
  if (found.empty()) return kOther;
  if (level == Level::kPrefix6) return found.substr(0, 6);
  if (level == Level::kPrefix4) return found.substr(0, 4);
  return found;
}

class WordEdges : public Template {
 public:
  WordEdges(std::string name, std::vector<EdgeCombination> combinations, WordClasses source,
            WordClasses target)
      : name_(std::move(name)), source_(std::move(source)), target_(std::move(target)) {
    for (EdgeCombination& one : combinations) {
      Combination made{name_ + ":" + one.label, std::move(one.atoms), 0};
      for (const EdgeAtom& atom : made.atoms) {
        if (atom.edge == Edge::kLength) continue;
        made.edges |= 1U << static_cast<unsigned>(atom.edge);
        wanted_[static_cast<size_t>(atom.edge)] |= 1U << static_cast<unsigned>(atom.level);
      }
      combinations_.push_back(std::move(made));
    }
  }
  const std::string& name() const override { return name_; }
  bool needs_tags() const override {
    const unsigned tag = 1U << static_cast<unsigned>(Level::kTag);
    return std::any_of(wanted_.begin(), wanted_.begin() + static_cast<size_t>(Edge::kTargetFirst),
                       [&](unsigned wanted) { return (wanted & tag) != 0; });
  }

  // Every combination is a name of its own that rarely comes again: names are put together from
  // pieces that are found once for the use, hashed, and looked up in one go, so that the look-ups
  // can overlap (each is a miss of the cache in a table of millions).
  void fire(const RuleUse& use, Sink& sink) const override {
    if (use.rule == kPassThrough) return;
    Pieces pieces;
    collect(use, pieces);
    const std::string length = std::to_string(use.span.end - use.span.begin);
    sink.add_all(1, combinations_.size(), [&](size_t i, std::string& text) {
      const Combination& combination = combinations_[i];
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

 private:
  struct Combination {
    std::string head;  // the template's name and the combination's
    std::vector<EdgeAtom> atoms;
    unsigned edges;  // a bit for each edge that it needs
  };
  struct Pieces {
    std::array<std::array<std::string_view, kLevels>, kEdgeWords> of;
    unsigned missing = 0;  // a bit for each edge that this use does not have
  };

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

  // The levels that some combination wants. `tag`: of the word in its sentence, or empty.
  void describe(Edge edge, std::string_view word, const WordClasses& classes, std::string_view tag,
                Pieces& pieces) const {
    const unsigned wanted = wanted_[static_cast<size_t>(edge)];
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
      piece(level) = class_at(entry, level);
    if (!tag.empty()) piece(Level::kTag) = tag;
  }

  std::string name_;
  std::vector<Combination> combinations_;
  std::array<unsigned, kEdgeWords> wanted_{};  // a bit for each level that some combination needs
  WordClasses source_, target_;
};

}  // namespace

std::string_view WordClasses::at(std::string_view word, Level level) const {
  return level == Level::kWord ? word : class_at(find(word), level);
}

std::string_view word_type(std::string_view word) {
  bool digits = false, letters = false, punctuation = false;
  while (!word.empty()) {
    const Point point = front(word);
    word.remove_prefix(point.size);
    if (is_digit(point.value)) {
      digits = true;
    } else if (is_letter(point.value)) {
      letters = true;
    } else if (is_punctuation(point.value)) {
      punctuation = true;
    } else {
      return "other";
    }
  }
  // A number may have points and commas, a word hyphens; with both digits and letters it is other.
  if (digits) return letters ? "other" : "digits";
  if (letters) return "letters";
  return punctuation ? "punctuation" : "other";
}

std::shared_ptr<const Template> make_word_edges(std::string name,
                                                std::vector<EdgeCombination> combinations,
                                                WordClasses source, WordClasses target) {
  return std::make_shared<WordEdges>(std::move(name), std::move(combinations), std::move(source),
                                     std::move(target));
}

}  // namespace hopefear::features
