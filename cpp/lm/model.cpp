#include "lm/model.hpp"

#include <algorithm>
#include <utility>

namespace hopefear::lm {
namespace {

constexpr BinaryKind kKind = {"lm", 1, "make it again with 'hopefear lm compile'"};
constexpr layout::Ngram kNoNgram[1 + kLeastReach] = {};
constexpr layout::Context kNoContext[1] = {};

std::string numbered(const char* name, unsigned n) { return name + std::to_string(n); }

class MappedModel : public Model {
 public:
  explicit MappedModel(const std::string& path) : file_(BinaryFile::open(path, kKind)) {
    header_ = file_.section<layout::Header>("header", 1)[0];
    const layout::Header& h = header_;
    if (h.order < 1 || h.order > kMaxOrder) throw file_.damaged("order");
    if (h.words == 0 || h.words > UINT32_MAX) throw file_.damaged("number of words");
    unigrams_ = file_.section<layout::Unigram>("unigrams", h.words);
    words_ = view<layout::Word>("words", h.word_homes, h.word_reach);
    text_offsets_ = file_.section<uint32_t>("offsets", h.words + 1);
    text_ = file_.section<char>("text");
    for (unsigned n = 2; n <= h.order; ++n) {
      tables_[n - 1] = view<layout::Ngram>(numbered("ngrams", n), h.homes[n - 1], h.reach[n - 1]);
      contexts_[n - 1] =
          file_.section<layout::Context>(numbered("contexts", n - 1), h.contexts[n - 1]);
    }
    check([this](const std::string& why) { return file_.damaged(why); });
  }

 private:
  template <typename Slot>
  TableView<Slot> view(const std::string& name, uint64_t homes, uint64_t reach) const {
    const std::span<const Slot> slots = file_.section<Slot>(name);
    // Each number is checked before the sum, which could overflow.
    if (homes == 0 || reach < kLeastReach || homes > slots.size() || reach > slots.size() ||
        homes + reach != slots.size()) {
      throw file_.damaged(name + " has a wrong size");
    }
    return {slots.data(), homes, reach};
  }
  BinaryFile file_;
};

}  // namespace

std::shared_ptr<const Model> Model::open(const std::string& path) {
  return std::make_shared<MappedModel>(path);
}

void Model::check(const std::function<InputError(const std::string&)>& damaged) {
  const layout::Header& h = header_;
  if (h.bos >= h.words || h.eos >= h.words) throw damaged("number of <s> or </s>");
  for (unsigned level = 0; level < kLevels; ++level) {
    if (tables_[level].slots == nullptr) tables_[level] = {kNoNgram, 1, kLeastReach};
    if (contexts_[level].empty()) contexts_[level] = kNoContext;
  }
  begin_.context = unigrams_[h.bos].next;
}

void Model::write(const std::string& path) const {
  BinaryWriter writer(path, kKind);
  const layout::Header& h = header_;
  writer.add("header", std::span<const layout::Header>(&h, 1));
  writer.add("unigrams", unigrams_);
  writer.add("words", std::span(words_.slots, words_.homes + words_.reach));
  writer.add("offsets", text_offsets_);
  writer.add("text", text_);
  for (unsigned n = 2; n <= h.order; ++n) {
    const TableView<layout::Ngram>& table = tables_[n - 1];
    writer.add(numbered("ngrams", n), std::span(table.slots, table.homes + table.reach));
    writer.add(numbered("contexts", n - 1), contexts_[n - 1].first(h.contexts[n - 1]));
  }
  writer.finish();
}

std::string_view Model::word(WordId id) const {
  if (id >= header_.words) return {};
  const size_t end = std::min<size_t>(text_offsets_[id + 1], text_.size());
  const size_t begin = std::min<size_t>(text_offsets_[id], end);
  return {text_.data() + begin, end - begin};
}

}  // namespace hopefear::lm
