// The best translations of spans, for Python.
#pragma once

#include <memory>

#include "decode/phrase_decoder.hpp"

namespace hopefear::bind {

// Keeps the model alive, which owns memory of the options.
struct Spans {
  std::shared_ptr<const decode::PhraseModel> model;
  decode::SpanResult result;

  // Returns the span; IndexError if the table lacks it.
  std::pair<int32_t, int32_t> check(int64_t begin, int64_t end) const;
};

}  // namespace hopefear::bind
