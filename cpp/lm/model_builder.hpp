// Builds a model in memory from an ARPA file.
#pragma once

#include <functional>
#include <memory>

#include "base/io.hpp"
#include "lm/model.hpp"

namespace hopefear::lm {

// Reads the file once, as a stream; the n-grams of an order may come in any sequence. Memory:
// little more than the model. `progress` is called at intervals with the number of n-grams read.
//
// A model without <unk> gets one with log10 p = -100 (KenLM's value), so that an unknown word is
// possible but never preferred. <s> and </s> are required. InputErrors name the line.
std::shared_ptr<const Model> read_arpa(
    ByteSource& source, const std::function<void(uint64_t)>& progress = [](uint64_t) {});

}  // namespace hopefear::lm
