#include "syntax/latent_grammar.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"

namespace hopefear::syntax {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr std::array<std::string_view, 20> kSuffixes = {
    "ness", "ment", "tion", "able", "less", "ious", "ing", "ion", "est", "ity",
    "ful",  "ous",  "ive",  "ant",  "ed",   "er",   "ly",  "al",  "ic",  "y"};

// The sections of a file are flat: numbers and texts, one after the other.
class Packer {
 public:
  void number(uint32_t n) { numbers.push_back(n); }
  void text(std::string_view s) {
    number(static_cast<uint32_t>(s.size()));
    texts += s;
  }
  void floats(const std::vector<float>& values) {
    number(static_cast<uint32_t>(values.size()));
    real.insert(real.end(), values.begin(), values.end());
  }
  std::vector<uint32_t> numbers;
  std::vector<float> real;
  std::string texts;
};

class Unpacker {
 public:
  explicit Unpacker(const BinaryFile& file)
      : file_(file),
        numbers_(file.section<uint32_t>("numbers")),
        real_(file.section<float>("values")),
        texts_(file.section<char>("texts")) {}
  uint32_t number() {
    if (number_ == numbers_.size()) throw file_.damaged("numbers are missing");
    return numbers_[number_++];
  }
  uint32_t below(uint32_t bound) {
    const uint32_t n = number();
    if (n >= bound) throw file_.damaged("a number is out of range");
    return n;
  }
  std::string_view text() {
    const size_t size = number();
    if (texts_.size() - text_ < size) throw file_.damaged("texts are missing");
    const std::string_view s(texts_.data() + text_, size);
    text_ += size;
    return s;
  }
  std::vector<float> floats(size_t expected) {
    const size_t size = number();
    if (size != expected || real_.size() - value_ < size) throw file_.damaged("values are missing");
    std::vector<float> values(real_.begin() + static_cast<ptrdiff_t>(value_),
                              real_.begin() + static_cast<ptrdiff_t>(value_ + size));
    value_ += size;
    for (const float value : values) {
      if (!(value >= 0 && value < 1e30F)) throw file_.damaged("a probability is out of range");
    }
    return values;
  }

 private:
  const BinaryFile& file_;
  std::span<const uint32_t> numbers_;
  std::span<const float> real_;
  std::span<const char> texts_;
  size_t number_ = 0, value_ = 0, text_ = 0;
};

std::vector<float> to_floats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

std::string signature(std::string_view word, bool first) {
  bool digits = false, letters = false, lowers = false, uppers = false, dash = false, other = false;
  for (const char c : word) {
    digits |= is_digit(c);
    lowers |= is_lower(c);
    uppers |= is_upper(c);
    letters |= is_lower(c) || is_upper(c);
    dash |= c == '-';
    other |= (static_cast<unsigned char>(c) & 0x80) != 0;
  }
  std::string shape = "UNK";
  if (uppers && !lowers && word.size() > 1) {
    shape += "-allcap";
  } else if (!word.empty() && is_upper(word[0])) {
    shape += first ? "-firstcap" : "-cap";
  } else if (uppers) {
    shape += "-mixed";
  }
  if (digits) shape += letters ? "-alnum" : "-num";
  if (dash) shape += "-dash";
  if (!letters && !digits && !other) shape += "-sign";
  if (letters && word.size() >= 4) {
    std::string small(word);
    std::ranges::transform(small, small.begin(), lower);
    if (small.back() == 's' && small[small.size() - 2] != 's' && small[small.size() - 2] != 'u' &&
        small[small.size() - 2] != 'i') {
      shape += "-s";
    } else {
      for (const std::string_view suffix : kSuffixes) {
        if (small.size() > suffix.size() + 1 && small.ends_with(suffix)) {
          shape += '-';
          shape += suffix;
          break;
        }
      }
    }
  }
  return shape;
}

std::string LatentGrammar::spelling(std::string_view word) const {
  std::string text(word);
  if (text == "(") text = "-LRB-";
  if (text == ")") text = "-RRB-";
  if (lowercase && text != "-LRB-" && text != "-RRB-") {
    std::ranges::transform(text, text.begin(), lower);
  }
  return text;
}

std::vector<LatentGrammar::Scored> LatentGrammar::score_word(std::string_view word,
                                                             bool first) const {
  const std::string spelled = spelling(word);
  const uint32_t known = words.find(spelled);
  const double count = known == WordNumbers::kNone ? 0 : word_counts[known];
  // A shape that was never seen loses its last parts.
  std::string shape = signature(spelled, first);
  uint32_t group = signatures.find(shape);
  while (group == WordNumbers::kNone && shape.find('-') != std::string::npos) {
    shape.resize(shape.rfind('-'));
    group = signatures.find(shape);
  }
  std::vector<Scored> result;
  const auto at_tag = [&](uint32_t symbol) -> Scored& {
    for (Scored& scored : result) {
      if (scored.tag == symbol) return scored;
    }
    result.push_back({symbol, std::vector<float>(substates[symbol], 0)});
    return result.back();
  };
  if (known != WordNumbers::kNone) {
    for (const Emission& emission : by_word[known]) {
      Scored& scored = at_tag(emission.tag);
      for (size_t x = 0; x < emission.counts.size(); ++x) scored.scores[x] += emission.counts[x];
    }
  }
  const auto mix = [&](const std::vector<Emission>& emissions, double total) {
    for (const Emission& emission : emissions) {
      // A frequent word has the tags that it was seen with.
      const bool seen = std::ranges::any_of(
          result, [&](const Scored& scored) { return scored.tag == emission.tag; });
      if (!seen && count > rare) continue;
      Scored& scored = at_tag(emission.tag);
      for (size_t x = 0; x < emission.counts.size(); ++x) {
        scored.scores[x] += static_cast<float>(prior * emission.counts[x] / total);
      }
    }
  };
  if (group != WordNumbers::kNone && signature_counts[group] > 0) {
    mix(by_signature[group], signature_counts[group]);
  }
  if (result.empty()) {  // all tags
    for (uint32_t symbol = 0; symbol < tag.size(); ++symbol) {
      if (!tag[symbol]) continue;
      Scored& scored = at_tag(symbol);
      for (size_t x = 0; x < scored.scores.size(); ++x) {
        scored.scores[x] = static_cast<float>(tag_counts[symbol][x]);
      }
    }
  }
  const double weight = count + prior;
  for (Scored& scored : result) {
    for (size_t x = 0; x < scored.scores.size(); ++x) {
      const double all = tag_counts[scored.tag][x];
      scored.scores[x] = all > 0 ? static_cast<float>(scored.scores[x] / weight / all * 1e4) : 0;
    }
  }
  std::ranges::sort(result, {}, &Scored::tag);
  return result;
}

void LatentGrammar::save(const std::string& path, std::string_view info) const {
  Packer out;
  out.number(static_cast<uint32_t>(symbols.size()));
  for (uint32_t s = 0; s < symbols.size(); ++s) {
    out.text(name(s));
    out.number(tag[s]);
    out.number(substates[s]);
    out.floats(to_floats(tag_counts[s]));
  }
  out.number(root);
  out.number(lowercase ? 1 : 0);
  out.number(rare);
  out.floats({static_cast<float>(prior)});
  out.number(static_cast<uint32_t>(binary.size()));
  for (const Binary& rule : binary) {
    out.number(rule.parent);
    out.number(rule.left);
    out.number(rule.right);
    out.floats(rule.p);
  }
  out.number(static_cast<uint32_t>(unary.size()));
  for (const Unary& rule : unary) {
    out.number(rule.parent);
    out.number(rule.child);
    out.number(static_cast<uint32_t>(rule.inside.size()));
    for (const uint32_t symbol : rule.inside) out.number(symbol);
    out.floats(rule.p);
  }
  const auto lexicon = [&](const WordNumbers& names, const std::vector<std::vector<Emission>>& all,
                           const std::vector<double>& counts) {
    out.number(static_cast<uint32_t>(names.size()));
    for (uint32_t w = 0; w < names.size(); ++w) {
      out.text(names.word(w));
      out.floats({static_cast<float>(counts[w])});
      out.number(static_cast<uint32_t>(all[w].size()));
      for (const Emission& emission : all[w]) {
        out.number(emission.tag);
        out.floats(emission.counts);
      }
    }
  };
  lexicon(words, by_word, word_counts);
  lexicon(signatures, by_signature, signature_counts);
  BinaryWriter writer(path, kParserKind);
  writer.add<uint32_t>("numbers", out.numbers);
  writer.add<float>("values", out.real);
  writer.add<char>("texts", out.texts);
  writer.add<char>("info", {info.data(), info.size()});
  writer.finish();
}

LatentGrammar LatentGrammar::open(const std::string& path) {
  const BinaryFile file = BinaryFile::open(path, kParserKind);
  Unpacker in(file);
  LatentGrammar grammar;
  const uint32_t count = in.number();
  for (uint32_t s = 0; s < count; ++s) {
    const std::string label(in.text());
    const bool is_tag = in.below(2) == 1;
    const uint32_t symbol = is_tag ? grammar.tag_symbol(label) : grammar.phrase_symbol(label);
    if (symbol != s) throw file.damaged("a symbol occurs twice");
    grammar.substates[s] = in.below(kMostSubstates + 1);
    if (grammar.substates[s] == 0) throw file.damaged("a symbol without substates");
    const std::vector<float> counts = in.floats(grammar.substates[s]);
    grammar.tag_counts.emplace_back(counts.begin(), counts.end());
  }
  grammar.root = in.below(count);
  if (grammar.substates[grammar.root] != 1) throw file.damaged("the root has substates");
  grammar.lowercase = in.below(2) == 1;
  grammar.rare = in.number();
  grammar.prior = in.floats(1)[0];
  for (uint32_t rules = in.number(), r = 0; r < rules; ++r) {
    const uint32_t parent = in.below(count), left = in.below(count), right = in.below(count);
    const size_t size =
        size_t{grammar.substates[parent]} * grammar.substates[left] * grammar.substates[right];
    grammar.binary.push_back({parent, left, right, in.floats(size)});
  }
  for (uint32_t rules = in.number(), r = 0; r < rules; ++r) {
    LatentGrammar::Unary rule;
    rule.parent = in.below(count);
    rule.child = in.below(count);
    for (uint32_t inner = in.number(); inner > 0; --inner) rule.inside.push_back(in.below(count));
    rule.p = in.floats(size_t{grammar.substates[rule.parent]} * grammar.substates[rule.child]);
    grammar.unary.push_back(std::move(rule));
  }
  const auto lexicon = [&](WordNumbers& names, std::vector<std::vector<Emission>>& all,
                           std::vector<double>& counts) {
    for (uint32_t entries = in.number(), w = 0; w < entries; ++w) {
      if (names.add(in.text()) != w) throw file.damaged("a word occurs twice");
      counts.push_back(in.floats(1)[0]);
      all.emplace_back();
      for (uint32_t emissions = in.number(); emissions > 0; --emissions) {
        const uint32_t symbol = in.below(count);
        if (!grammar.tag[symbol]) throw file.damaged("a phrase has a word");
        all.back().push_back({symbol, in.floats(grammar.substates[symbol])});
      }
    }
  };
  lexicon(grammar.words, grammar.by_word, grammar.word_counts);
  lexicon(grammar.signatures, grammar.by_signature, grammar.signature_counts);
  return grammar;
}

}  // namespace hopefear::syntax
