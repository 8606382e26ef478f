#include "align/model.hpp"

#include <algorithm>
#include <cmath>

#include "base/binary_file.hpp"

namespace hopefear::align {
namespace {

constexpr BinaryKind kKind = {"align", 2, "re-create it with 'hopefear align --save-model'"};

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
  double alpha, similar, p0, uniform;
  uint64_t window;
  uint32_t kind, fertilities;
};

}  // namespace

Model::Model(std::array<Jumps, 2> initial_jumps, size_t source_words, size_t target_words)
    : fertilities{Fertilities(source_words), Fertilities(target_words)},
      jumps(std::move(initial_jumps)) {
  totals[0].resize(source_words + 1);
  totals[1].resize(target_words + 1);
  empty[0].resize(target_words + 1);
  empty[1].resize(source_words + 1);
}

ptrdiff_t Model::entry(uint32_t s, uint32_t t) const {
  if (s >= source.size() || t >= target.size()) return -1;
  const auto first = columns.begin() + static_cast<ptrdiff_t>(rows[s]);
  const auto last = columns.begin() + static_cast<ptrdiff_t>(rows[s + 1]);
  const auto at = std::lower_bound(first, last, t);
  return at == last || *at != t ? -1 : at - columns.begin();
}

double Model::probability(int d, uint32_t s, uint32_t t, double count) const {
  const double outcomes = static_cast<double>(d == 0 ? target.size() : source.size());
  return (alpha + count) / (alpha * outcomes + (d == 0 ? totals[0][s] : totals[1][t]));
}

double Model::empty_probability(size_t d, uint32_t word) const {
  const double outcomes = static_cast<double>(d == 0 ? target.size() : source.size());
  return (alpha + empty[d][word]) / (alpha * outcomes + empty_total[d]);
}

void Model::emissions(std::span<const uint32_t> source_sentence,
                      std::span<const uint32_t> target_sentence, const float* count,
                      const Link* links, PairEmissions& out) const {
  const size_t I = source_sentence.size(), J = target_sentence.size();
  const size_t stride0 = padded(I), stride1 = padded(J);
  out.resize(I, J);
  const std::span<const uint32_t> sentences[2] = {source_sentence, target_sentence};
  const double pseudo[2] = {alpha * static_cast<double>(target.size()),
                            alpha * static_cast<double>(source.size())};
  for (size_t d = 0; d < 2; ++d) {
    const auto states = sentences[d], observations = sentences[1 - d];
    out.inverse[d].resize(states.size());
    for (size_t k = 0; k < states.size(); ++k) {
      out.inverse[d][k] = static_cast<float>(1 / (pseudo[d] + totals[d][states[k]]));
    }
    for (size_t k = 0; k < observations.size(); ++k) {
      out.empty[d][k] = static_cast<float>(empty_probability(d, observations[k]));
    }
  }

  const auto prior = static_cast<float>(alpha);
  for (size_t i = 0; i < I; ++i) {
    float* forward = out.word[0].data() + i;
    float* reverse = out.word[1].data() + i * stride1;
    for (size_t j = 0; j < J; ++j) {
      const float weight = prior + count[i * J + j];
      forward[j * stride0] = weight * out.inverse[0][i];
      reverse[j] = weight * out.inverse[1][j];
    }
    std::fill(reverse + J, reverse + stride1, 0.0F);
  }
  for (size_t j = 0; j < J; ++j) {
    float* row = out.word[0].data() + j * stride0;
    std::fill(row + I, row + stride0, 0.0F);
  }
  if (kind == Kind::fertility && links != nullptr) apply_fertilities(sentences, links, out);
}

void Model::apply_fertilities(const std::span<const uint32_t>* sentences, const Link* links,
                              PairEmissions& out) const {
  const size_t I = out.I, J = out.J, stride0 = padded(I), stride1 = padded(J);
  auto& [linked0, linked1] = out.linked;
  linked0.assign(I, 0);
  linked1.assign(J, 0);
  for (size_t i = 0; i < I; ++i) {
    for (size_t j = 0; j < J; ++j) {
      const float link = to_probability(links[i * J + j]);
      linked0[i] += link;
      linked1[j] += link;
    }
  }
  for (size_t i = 0; i < I; ++i) {
    float* forward = out.word[0].data() + i;
    float* reverse = out.word[1].data() + i * stride1;
    for (size_t j = 0; j < J; ++j) {
      const float own = to_probability(links[i * J + j]);
      float &p = forward[j * stride0], &q = reverse[j];
      p *= fertilities[0].ratio(sentences[0][i], std::max(0.0F, linked0[i] - own));
      q *= fertilities[1].ratio(sentences[1][j], std::max(0.0F, linked1[j] - own));
      p = std::max(p, kFloor);
      q = std::max(q, kFloor);
    }
  }
}

double Model::infer(int d, Scratch& scratch, PairEmissions& pair,
                    const SentenceJumps* expected) const {
  const size_t k = static_cast<size_t>(d);
  float *words = pair.word[k].data(), *nothing = pair.empty[k].data();
  const Emissions emissions = pair.direction(d);
  if (kind == Kind::model1) return model1_posteriors(parameters.p0, emissions, words, nothing);
  return hmm_posteriors(jumps[k], parameters, emissions, scratch, words, nothing, expected);
}

void agree(Kind kind, const PairEmissions& posteriors, Link* links) {
  const size_t stride0 = padded(posteriors.I), stride1 = padded(posteriors.J);
  for (size_t i = 0; i < posteriors.I; ++i) {
    for (size_t j = 0; j < posteriors.J; ++j) {
      const float product =
          posteriors.word[0][j * stride0 + i] * posteriors.word[1][i * stride1 + j];
      const float p = kind == Kind::model1 ? std::sqrt(product) : product;
      *links++ = static_cast<Link>(std::min(p, 1.0F) / kLinkUnit + 0.5F);
    }
  }
}

void Model::save(const std::string& path) const {
  std::vector<uint64_t> kept_rows = {0};
  std::vector<uint32_t> kept_columns;
  std::vector<float> kept;
  for (size_t s = 0; s < source.size(); ++s) {
    for (uint64_t n = rows[s]; n < rows[s + 1]; ++n) {
      if (counts[n] <= 0) continue;
      kept_columns.push_back(columns[n]);
      kept.push_back(counts[n]);
    }
    kept_rows.push_back(kept.size());
  }
  BinaryWriter file(path, kKind);
  const FileSettings settings = {alpha,
                                 similar,
                                 parameters.p0,
                                 parameters.uniform,
                                 jumps[0].window(),
                                 static_cast<uint32_t>(kind),
                                 kFertilities};
  file.add<FileSettings>("settings", {&settings, 1});
  save_words(file, "source", source);
  save_words(file, "target", target);
  file.add<uint64_t>("rows", view(kept_rows));
  file.add<uint32_t>("columns", view(kept_columns));
  file.add<float>("counts", view(kept));
  for (size_t d = 0; d < 2; ++d) {
    const std::string direction = d == 0 ? "forward" : "reverse";
    file.add<double>(direction + ".totals", view(totals[d]));
    file.add<double>(direction + ".empty", view(empty[d]));
    file.add<double>(direction + ".jump", view(jumps[d].weights()));
    file.add<double>(direction + ".first", view(jumps[d].start()));
    file.add<Fertilities::Ratios>(direction + ".ratios", view(fertilities[d].ratios()));
  }
  file.finish();
}

Model Model::load(const std::string& path) {
  const BinaryFile file = BinaryFile::open(path, kKind);
  const FileSettings& settings = file.section<FileSettings>("settings", 1)[0];
  if (!(settings.p0 > 0 && settings.p0 < 1) || !(settings.uniform >= 0 && settings.uniform < 1) ||
      settings.window < 1 || settings.window > 100000 || !(settings.alpha > 0) ||
      !(settings.similar >= 0) || settings.kind > static_cast<uint32_t>(Kind::fertility) ||
      settings.fertilities != kFertilities) {
    throw file.damaged("settings out of range");
  }
  WordNumbers source = load_words(file, "source"), target = load_words(file, "target");
  const Jumps jumps(settings.window, 1, 1);  // only its weights matter, which follow
  Model model({jumps, jumps}, source.size(), target.size());
  model.source = std::move(source);
  model.target = std::move(target);
  model.kind = static_cast<Kind>(settings.kind);
  model.alpha = settings.alpha;
  model.similar = settings.similar;
  model.parameters = {settings.p0, settings.uniform};
  const auto rows = file.section<uint64_t>("rows", model.source.size() + 1);
  const auto columns = file.section<uint32_t>("columns");
  const auto counts = file.section<float>("counts", columns.size());
  if (rows.front() != 0 || rows.back() != columns.size() ||
      !std::is_sorted(rows.begin(), rows.end())) {
    throw file.damaged("rows do not fit together");
  }
  const auto count = [](double x) { return x >= 0 && x < 1e30; };
  for (size_t s = 0; s < model.source.size(); ++s) {
    for (uint64_t n = rows[s]; n < rows[s + 1]; ++n) {
      if (columns[n] >= model.target.size() || (n > rows[s] && columns[n] <= columns[n - 1]) ||
          !count(counts[n])) {
        throw file.damaged("word pairs out of order or out of range");
      }
    }
  }
  model.rows.assign(rows.begin(), rows.end());
  model.columns.assign(columns.begin(), columns.end());
  model.counts.assign(counts.begin(), counts.end());
  const auto weight = [](double w) { return w > 0 && w <= 1; };
  for (size_t d = 0; d < 2; ++d) {
    const std::string direction = d == 0 ? "forward" : "reverse";
    const auto totals = file.section<double>(direction + ".totals", model.totals[d].size());
    const auto empty = file.section<double>(direction + ".empty", model.empty[d].size());
    const auto jump = file.section<double>(direction + ".jump", 2 * settings.window + 3);
    const auto first = file.section<double>(direction + ".first", settings.window + 2);
    const auto ratios = file.section<Fertilities::Ratios>(direction + ".ratios",
                                                          model.fertilities[d].ratios().size());
    if (!std::all_of(totals.begin(), totals.end(), count) ||
        !std::all_of(empty.begin(), empty.end(), count) ||
        !std::all_of(jump.begin(), jump.end(), weight) ||
        !std::all_of(first.begin(), first.end(), weight) ||
        !std::all_of(ratios.begin(), ratios.end(), [&](const Fertilities::Ratios& r) {
          return std::all_of(r.begin(), r.end(), count);
        })) {
      throw file.damaged(direction + " weights out of range");
    }
    model.totals[d].assign(totals.begin(), totals.end());
    model.empty[d].assign(empty.begin(), empty.end());
    for (const double x : empty) model.empty_total[d] += x;
    model.jumps[d].set({jump.begin(), jump.end()}, {first.begin(), first.end()});
    model.fertilities[d].set({ratios.begin(), ratios.end()});
  }
  return model;
}

void PairEmissions::resize(size_t source_words, size_t target_words) {
  I = source_words;
  J = target_words;
  word[0].resize(J * padded(I));
  word[1].resize(I * padded(J));
  empty[0].resize(J);
  empty[1].resize(I);
}

Emissions PairEmissions::direction(int d) const {
  return d == 0 ? Emissions{I, J, word[0].data(), empty[0].data()}
                : Emissions{J, I, word[1].data(), empty[1].data()};
}

Lookup::Lookup(const Model& model, const Bitext& bitext) : model_(model), bitext_(bitext) {
  if (model.similar > 0) {
    similarity_ = std::make_unique<Similarity>(bitext.source, bitext.target, model.similar);
  }
  const auto map = [](const WordNumbers& from, const WordNumbers& to) {
    std::vector<uint32_t> result(from.size());
    for (uint32_t id = 0; id < from.size(); ++id) {
      const uint32_t known = to.find(from.word(id));
      result[id] = known == WordNumbers::kNone ? static_cast<uint32_t>(to.size()) : known;
    }
    return result;
  };
  source_ = map(bitext.source, model.source);
  target_ = map(bitext.target, model.target);
  for (const uint32_t s : bitext.source_words) unknown_[0] += source_[s] == model.source.size();
  for (const uint32_t t : bitext.target_words) unknown_[1] += target_[t] == model.target.size();
}

void Lookup::fill(size_t pair, Scratch& scratch, PairEmissions& out) const {
  const auto f = bitext_.source_sentence(pair), e = bitext_.target_sentence(pair);
  const size_t I = f.size(), J = e.size();
  std::vector<uint32_t> source(I), target(J);
  for (size_t i = 0; i < I; ++i) source[i] = source_[f[i]];
  for (size_t j = 0; j < J; ++j) target[j] = target_[e[j]];
  std::vector<float> count(I * J), similar(J);
  for (size_t i = 0; i < I; ++i) {
    if (similarity_) similarity_->pseudo_links(f[i], e, similar.data());
    for (size_t j = 0; j < J; ++j) {
      const ptrdiff_t entry = model_.entry(source[i], target[j]);
      count[i * J + j] = entry < 0 ? similar[j] : model_.counts[static_cast<size_t>(entry)];
    }
  }
  model_.emissions(source, target, count.data(), nullptr, out);
  if (model_.kind != Kind::fertility) return;
  // Fertilities need links: those that the HMM expects without.
  std::vector<Link> links(I * J);
  for (const int d : {0, 1}) model_.infer(d, scratch, out, nullptr);
  agree(model_.kind, out, links.data());
  model_.emissions(source, target, count.data(), links.data(), out);
}

}  // namespace hopefear::align
