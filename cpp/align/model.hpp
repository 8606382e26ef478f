// A trained alignment model: lexical weights and jumps of both directions.
//
// Direction 0, "forward", generates target words from source words: t(target | source). Direction
// 1, "reverse", source words from target words. The lexical tables of both are interleaved
// (cooccurrence.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "align/bitext.hpp"
#include "align/hmm.hpp"
#include "align/jumps.hpp"

namespace hopefear::align {

// The smallest lexical weight, so that no word pair is impossible.
inline constexpr float kFloor = 1e-10F;

struct Weight {
  float forward, reverse;
};

struct Model {
  explicit Model(std::array<Jumps, 2> initial_jumps) : jumps(std::move(initial_jumps)) {}

  WordNumbers source, target;
  std::vector<uint64_t> rows = {0};  // source vocabulary + 1
  std::vector<uint32_t> columns;     // target words, ascending in each row
  std::vector<Weight> weights;
  std::array<std::vector<float>, 2> empty;  // t(word | empty): by target word, by source word
  std::array<Jumps, 2> jumps;
  std::array<bool, 2> trained = {true, true};
  bool hmm = true;  // false: Model 1 only
  HmmParameters parameters{};

  // The weights of a pair, the floor if the pair has no entry. O(log row).
  Weight weight(uint32_t s, uint32_t t) const;

  // Writes to a new file, without entries whose two weights are both the floor.
  void save(const std::string& path) const;
  // InputError for a damaged file.
  static Model load(const std::string& path);
};

// The emissions of a sentence pair in both directions, in buffers that grow to the largest pair.
struct PairEmissions {
  std::array<std::vector<float>, 2> word;   // [observation * stride + state]
  std::array<std::vector<float>, 2> empty;  // [observation]
  size_t I = 0, J = 0;
  void resize(size_t source_words, size_t target_words);
  Emissions direction(int d) const;
};

// Maps the words of any text to those of a model and computes emissions, including those of unknown
// words: an unknown word prefers unknown words of the other side, most of all one with the same
// string, and then words without another partner.
class Lookup {
 public:
  Lookup(const Model& model, const Bitext& bitext);
  void fill(size_t pair, PairEmissions& out) const;
  uint64_t unknown_source() const { return unknown_[0]; }  // running words
  uint64_t unknown_target() const { return unknown_[1]; }

 private:
  const Model& model_;
  const Bitext& bitext_;
  std::vector<uint32_t> source_, target_;  // the model's number of each of the bitext's words
  uint64_t unknown_[2] = {0, 0};
};

}  // namespace hopefear::align
