// The rule for names of features, which is the same for all files, plugins and streams: UTF-8 that
// is not empty and has no control characters, such as tabs and line ends.
#pragma once

#include <string>
#include <string_view>

namespace hopefear {

// The length of the UTF-8 sequence at the front of a text that is not empty; 0 if there is none.
size_t utf8_sequence(std::string_view text);

// The same, but also 0 for a control character (U+0000 to U+001F, U+007F to U+009F).
size_t printable_sequence(std::string_view text);

bool is_feature_name(std::string_view name);
void check_feature_name(std::string_view name);  // InputError if it is none

// The name with '?' in place of every byte that names must not have; for names that templates
// compose from words, which may have such bytes.
std::string as_feature_name(std::string_view name);

}  // namespace hopefear
