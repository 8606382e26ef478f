#include "features/rule_text.hpp"

namespace hopefear::features {
namespace {

void append_side(const Vocabulary& words, std::span<const int32_t> side, char before,
                 std::string& text) {
  for (const int32_t symbol : side) {
    text += before;
    before = '_';
    if (symbol >= 0) {
      text += words.word(symbol);
    } else {
      text += '[';
      text += std::to_string(-symbol);
      text += ']';
    }
  }
  if (side.empty()) text += before;
}

}  // namespace

void append_rule(const RuleUse& use, char separator, std::string& text) {
  append_side(*use.source->vocabulary, use.source_side, separator, text);
  append_side(*use.source->vocabulary, use.target_side, '|', text);
}

}  // namespace hopefear::features
