#include "align/similarity.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace hopefear::align {
namespace {

constexpr size_t kShortest = 4, kLongest = 64;

bool comparable(const Spelling& a, const Spelling& b) {
  const auto [shorter, longer] = std::minmax({a.letters.size(), b.letters.size()});
  return shorter >= kShortest && longer <= kLongest &&
         static_cast<double>(shorter) >= kSimilar * static_cast<double>(longer);
}

// The positions of each letter of a word as bits, for comparisons with many other words.
class Pattern {
 public:
  explicit Pattern(const Spelling& word) : word_(word) {
    if (word.letters.size() > kLongest) return;
    for (size_t i = 0; i < word.letters.size(); ++i) bits_[word.letters[i]] |= uint64_t{1} << i;
  }

  // Bit-parallel longest common subsequence: a zero in `row` is a place where the length of the
  // common subsequence grows by one.
  double similarity(const Spelling& other) const {
    if (!comparable(word_, other)) return 0;
    uint64_t row = ~uint64_t{0};
    for (const uint16_t letter : other.letters) {
      const uint64_t common = row & bits_[letter];
      row = (row + common) | (row - common);
    }
    const size_t size = word_.letters.size();
    const uint64_t used = size == kLongest ? ~uint64_t{0} : (uint64_t{1} << size) - 1;
    return static_cast<double>(std::popcount(~row & used)) /
           static_cast<double>(std::max(size, other.letters.size()));
  }

 private:
  const Spelling& word_;
  std::array<uint64_t, Spelling::kLetters> bits_{};
};

std::vector<Spelling> spellings(const WordNumbers& words) {
  std::vector<Spelling> result;
  result.reserve(words.size());
  for (uint32_t id = 0; id < words.size(); ++id) result.emplace_back(words.word(id));
  return result;
}

}  // namespace

Spelling::Spelling(std::string_view word) {
  for (size_t i = 0; i < word.size();) {
    // A UTF-8 sequence; in other encodings the comparison is of groups of bytes.
    uint32_t letter = static_cast<uint8_t>(word[i++]);
    if (letter >= '0' && letter <= '9') digits.push_back(static_cast<char>(letter));
    while (i < word.size() && (static_cast<uint8_t>(word[i]) & 0xC0) == 0x80) {
      letter = letter * 64 + static_cast<uint8_t>(word[i++]);
    }
    constexpr uint32_t kAscii = 128;
    letters.push_back(static_cast<uint16_t>(
        letter < kAscii ? letter : kAscii + letter * 2654435761U % (kLetters - kAscii)));
  }
}

double similarity(const Spelling& a, const Spelling& b) { return Pattern(a).similarity(b); }

Similarity::Similarity(const WordNumbers& source, const WordNumbers& target, double weight)
    : source_(source),
      target_(target),
      source_spellings_(spellings(source)),
      target_spellings_(spellings(target)),
      weight_(static_cast<float>(weight)) {}

void Similarity::pseudo_links(uint32_t s, std::span<const uint32_t> targets, float* out) const {
  const Spelling& spelling = source_spellings_[s];
  const Pattern pattern(spelling);
  for (const uint32_t t : targets) {
    const Spelling& other = target_spellings_[t];
    const bool similar = (!spelling.digits.empty() && spelling.digits == other.digits) ||
                         source_.word(s) == target_.word(t) ||
                         pattern.similarity(other) >= kSimilar;
    *out++ = similar ? weight_ : 0;
  }
}

}  // namespace hopefear::align
