// The best translations of spans, as Python holds them.
#pragma once

#include <memory>

#include "decode/phrase_decoder.hpp"

namespace hopefear::bind {

// Keeps the model, and with it the options' memory, alive.
struct Spans {
  std::shared_ptr<const decode::PhraseModel> model;
  decode::SpanResult result;

  // IndexError for a span that is not there.
  std::pair<int32_t, int32_t> check(int64_t begin, int64_t end) const;
};

}  // namespace hopefear::bind
