#include "align/model.hpp"

#include <algorithm>
#include <cmath>

#include "base/binary_file.hpp"

namespace hopefear::align {
namespace {

constexpr BinaryKind kKind = {"align", 1, "re-create it with 'hopefear align --save-model'"};

// Of words that the model does not know; by the order of magnitude all that matters is the order:
// same string, both unknown, leftover, known partner, empty word.
constexpr float kSameString = 0.5F;
constexpr float kBothUnknown = 1e-3F;
constexpr float kUnknownFromKnown = 1e-6F;
constexpr float kUnknownFromEmpty = 1e-6F;

template <typename T>
std::span<const T> view(const std::vector<T>& values) {
  return values;
}

void save_words(BinaryWriter& file, const std::string& name, const WordNumbers& words) {
  std::string text;
  std::vector<uint64_t> begin = {0};
  for (uint32_t id = 0; id < words.size(); ++id) {
    text += words.word(id);
    begin.push_back(text.size());
  }
  file.add<char>(name + ".text", std::span<const char>(text));
  file.add<uint64_t>(name + ".begin", view(begin));
}

WordNumbers load_words(const BinaryFile& file, const std::string& name) {
  const auto text = file.section<char>(name + ".text");
  const auto begin = file.section<uint64_t>(name + ".begin");
  if (begin.empty() || begin.front() != 0 || begin.back() != text.size()) {
    throw file.damaged(name + " words do not fit together");
  }
  WordNumbers words;
  for (size_t n = 0; n + 1 < begin.size(); ++n) {
    if (begin[n] >= begin[n + 1] || begin[n + 1] > text.size() ||
        words.add({text.data() + begin[n], begin[n + 1] - begin[n]}) != n) {
      throw file.damaged(name + " words are empty or repeated");
    }
  }
  return words;
}

struct FileSettings {
  double p0, uniform;
  uint64_t window;
  uint32_t hmm, forward, reverse, reserved;
};

bool probability(float x) { return x > 0 && x <= 1; }

}  // namespace

Weight Model::weight(uint32_t s, uint32_t t) const {
  const auto first = columns.begin() + static_cast<ptrdiff_t>(rows[s]);
  const auto last = columns.begin() + static_cast<ptrdiff_t>(rows[s + 1]);
  const auto at = std::lower_bound(first, last, t);
  if (at == last || *at != t) return {kFloor, kFloor};
  return weights[static_cast<size_t>(at - columns.begin())];
}

void Model::save(const std::string& path) const {
  std::vector<uint64_t> kept_rows = {0};
  std::vector<uint32_t> kept_columns;
  std::vector<Weight> kept;
  for (size_t s = 0; s < source.size(); ++s) {
    for (uint64_t n = rows[s]; n < rows[s + 1]; ++n) {
      if (weights[n].forward <= kFloor && weights[n].reverse <= kFloor) continue;
      kept_columns.push_back(columns[n]);
      kept.push_back(weights[n]);
    }
    kept_rows.push_back(kept.size());
  }
  BinaryWriter file(path, kKind);
  const FileSettings settings = {
      parameters.p0, parameters.uniform, jumps[0].window(), hmm, trained[0], trained[1], 0};
  file.add<FileSettings>("settings", {&settings, 1});
  save_words(file, "source", source);
  save_words(file, "target", target);
  file.add<uint64_t>("rows", view(kept_rows));
  file.add<uint32_t>("columns", view(kept_columns));
  file.add<Weight>("weights", view(kept));
  for (size_t d = 0; d < 2; ++d) {
    const std::string direction = d == 0 ? "forward" : "reverse";
    file.add<float>(direction + ".empty", view(empty[d]));
    file.add<double>(direction + ".jump", view(jumps[d].weights()));
    file.add<double>(direction + ".first", view(jumps[d].start()));
  }
  file.finish();
}

Model Model::load(const std::string& path) {
  const BinaryFile file = BinaryFile::open(path, kKind);
  const FileSettings& settings = file.section<FileSettings>("settings", 1)[0];
  if (!(settings.p0 > 0 && settings.p0 < 1) || !(settings.uniform >= 0 && settings.uniform < 1) ||
      settings.window < 1 || settings.window > 100000) {
    throw file.damaged("settings out of range");
  }
  const Jumps jumps(settings.window, 1, 1);  // only its weights matter, which follow
  Model model({jumps, jumps});
  model.parameters = {settings.p0, settings.uniform};
  model.hmm = settings.hmm != 0;
  model.trained = {settings.forward != 0, settings.reverse != 0};
  model.source = load_words(file, "source");
  model.target = load_words(file, "target");
  const auto rows = file.section<uint64_t>("rows", model.source.size() + 1);
  const auto columns = file.section<uint32_t>("columns");
  const auto weights = file.section<Weight>("weights", columns.size());
  if (rows.front() != 0 || rows.back() != columns.size() ||
      !std::is_sorted(rows.begin(), rows.end())) {
    throw file.damaged("rows do not fit together");
  }
  for (size_t s = 0; s < model.source.size(); ++s) {
    for (uint64_t n = rows[s]; n < rows[s + 1]; ++n) {
      if (columns[n] >= model.target.size() || (n > rows[s] && columns[n] <= columns[n - 1]) ||
          !probability(weights[n].forward) || !probability(weights[n].reverse)) {
        throw file.damaged("word pairs out of order or out of range");
      }
    }
  }
  model.rows.assign(rows.begin(), rows.end());
  model.columns.assign(columns.begin(), columns.end());
  model.weights.assign(weights.begin(), weights.end());
  const auto good = [](double w) { return w > 0 && w <= 1; };
  for (size_t d = 0; d < 2; ++d) {
    const std::string direction = d == 0 ? "forward" : "reverse";
    const size_t words = d == 0 ? model.target.size() : model.source.size();
    const auto empty = file.section<float>(direction + ".empty", words);
    const auto jump = file.section<double>(direction + ".jump", 2 * settings.window + 3);
    const auto first = file.section<double>(direction + ".first", settings.window + 2);
    if (!std::all_of(empty.begin(), empty.end(), probability) ||
        !std::all_of(jump.begin(), jump.end(), good) ||
        !std::all_of(first.begin(), first.end(), good)) {
      throw file.damaged(direction + " weights out of range");
    }
    model.empty[d].assign(empty.begin(), empty.end());
    model.jumps[d].set({jump.begin(), jump.end()}, {first.begin(), first.end()});
  }
  return model;
}

void PairEmissions::resize(size_t source_words, size_t target_words) {
  I = source_words;
  J = target_words;
  // Zeroed anew: the padding must be zero, and inference may have written over all of it.
  word[0].assign(J * padded(I), 0.0F);
  word[1].assign(I * padded(J), 0.0F);
  empty[0].resize(J);
  empty[1].resize(I);
}

Emissions PairEmissions::direction(int d) const {
  return d == 0 ? Emissions{I, J, word[0].data(), empty[0].data()}
                : Emissions{J, I, word[1].data(), empty[1].data()};
}

Lookup::Lookup(const Model& model, const Bitext& bitext) : model_(model), bitext_(bitext) {
  const auto map = [](const WordNumbers& from, const WordNumbers& to) {
    std::vector<uint32_t> result(from.size());
    for (uint32_t id = 0; id < from.size(); ++id) result[id] = to.find(from.word(id));
    return result;
  };
  source_ = map(bitext.source, model.source);
  target_ = map(bitext.target, model.target);
  for (const uint32_t s : bitext.source_words) unknown_[0] += source_[s] == WordNumbers::kNone;
  for (const uint32_t t : bitext.target_words) unknown_[1] += target_[t] == WordNumbers::kNone;
}

void Lookup::fill(size_t pair, PairEmissions& out) const {
  const auto f = bitext_.source_sentence(pair), e = bitext_.target_sentence(pair);
  out.resize(f.size(), e.size());
  const size_t I = f.size(), J = e.size(), stride0 = padded(I), stride1 = padded(J);
  // A known word from an unknown one: any word is as likely as any other.
  const float any_target = 1.0F / static_cast<float>(model_.target.size() + 1);
  const float any_source = 1.0F / static_cast<float>(model_.source.size() + 1);
  for (size_t i = 0; i < I; ++i) {
    const uint32_t s = source_[f[i]];
    for (size_t j = 0; j < J; ++j) {
      const uint32_t t = target_[e[j]];
      Weight w;
      if (s != WordNumbers::kNone && t != WordNumbers::kNone) {
        w = model_.weight(s, t);
      } else if (s == WordNumbers::kNone && t == WordNumbers::kNone) {
        const bool same = bitext_.source.word(f[i]) == bitext_.target.word(e[j]);
        w.forward = w.reverse = same ? kSameString : kBothUnknown;
      } else if (s == WordNumbers::kNone) {
        w = {any_target, kUnknownFromKnown};
      } else {
        w = {kUnknownFromKnown, any_source};
      }
      out.word[0][j * stride0 + i] = w.forward;
      out.word[1][i * stride1 + j] = w.reverse;
    }
    out.empty[1][i] = s == WordNumbers::kNone ? kUnknownFromEmpty : model_.empty[1][s];
  }
  for (size_t j = 0; j < J; ++j) {
    const uint32_t t = target_[e[j]];
    out.empty[0][j] = t == WordNumbers::kNone ? kUnknownFromEmpty : model_.empty[0][t];
  }
}

}  // namespace hopefear::align
