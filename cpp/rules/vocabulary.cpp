#include "rules/vocabulary.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace hopefear::rules {

bool word_less(std::string_view a, std::string_view b) {
  const size_t common = std::min(a.size(), b.size());
  const int order = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
  if (order != 0) return order < 0;
  if (a.size() == b.size()) return false;
  // One word is a prefix of the other: the blank after it is compared with the other's next byte.
  if (a.size() < b.size()) return ' ' < static_cast<unsigned char>(b[common]);
  return static_cast<unsigned char>(a[common]) < ' ';
}

std::vector<Word> sorted(const WordNumbers& words) {
  std::vector<Word> order(words.size());
  std::iota(order.begin(), order.end(), Word{0});
  std::sort(order.begin(), order.end(),
            [&](Word a, Word b) { return word_less(words.word(a), words.word(b)); });
  return order;
}

WordOrder::WordOrder(const WordNumbers& collected) : number(collected.size()) {
  words.reserve(collected.size());
  for (const Word id : sorted(collected)) {
    number[id] = static_cast<Word>(words.size());
    words.push_back(collected.word(id));
  }
}

WordList::WordList(const BinaryFile& file, const std::string& section)
    : offsets_(file.section<uint64_t>(section + ".at")),
      text_(file.section<char>(section + ".text")) {
  if (offsets_.empty() || offsets_.size() - 1 >= kNoWord || offsets_.front() != 0 ||
      offsets_.back() != text_.size()) {
    throw file.damaged("the words of " + section + " do not fit their text");
  }
}

std::string_view WordList::word(Word id) const {
  if (id >= size()) return {};
  const uint64_t begin = offsets_[id], end = offsets_[id + 1];
  if (begin > end || end > text_.size()) return {};
  return {text_.data() + begin, end - begin};
}

Word WordList::find(std::string_view text) const {
  size_t low = 0, high = size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (word_less(word(static_cast<Word>(middle)), text)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const Word id = static_cast<Word>(low);
  return low < size() && word(id) == text ? id : kNoWord;
}

void write_words(BinaryWriter& writer, const std::string& section,
                 std::span<const std::string_view> words) {
  std::vector<uint64_t> offsets = {0};
  offsets.reserve(words.size() + 1);
  for (const std::string_view word : words) offsets.push_back(offsets.back() + word.size());
  writer.add<uint64_t>(section + ".at", offsets);
  writer.begin(section + ".text");
  for (const std::string_view word : words) writer.append(word.data(), word.size());
}

}  // namespace hopefear::rules
