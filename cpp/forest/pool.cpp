#include "forest/pool.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace hopefear {
namespace {

constexpr uint64_t kAlign = 64;

struct BlockHeader {
  uint64_t checksum;  // of everything after this field
  int64_t goal;
  uint64_t id_size;                // bytes of the sentence's id, which follow the header
  uint64_t counts[kForestArrays];  // elements of each array; each begins at a multiple of 8 bytes
};

uint64_t padded(uint64_t size, uint64_t to) { return (size + to - 1) / to * to; }

// Concatenated strings, each after its length in 4 bytes.
void write_strings(BinaryWriter& file, std::string_view section, size_t count,
                   const auto& string_at) {
  file.begin(section);
  for (size_t i = 0; i < count; ++i) {
    const std::string_view text = string_at(i);
    const uint32_t size = static_cast<uint32_t>(text.size());
    file.append(&size, sizeof(size));
    file.append(text.data(), size);
  }
}

void read_strings(const BinaryFile& file, std::string_view section, const auto& f) {
  const std::span<const char> bytes = file.section<char>(section);
  for (size_t at = 0; at < bytes.size();) {
    uint32_t size = 0;
    if (bytes.size() - at < sizeof(size)) throw file.damaged(std::string(section));
    std::memcpy(&size, bytes.data() + at, sizeof(size));
    at += sizeof(size);
    if (bytes.size() - at < size) throw file.damaged(std::string(section));
    f(std::string_view(bytes.data() + at, size));
    at += size;
  }
}

}  // namespace

PoolWriter::PoolWriter(const std::string& path) : file_(path, kForestKind) {
  file_.begin("forests");
}

int32_t PoolWriter::word(const Vocabulary& from, int32_t id) {
  if (static_cast<size_t>(id) >= word_map_.size())
    word_map_.resize(static_cast<size_t>(id) + 1, -1);
  int32_t& mapped = word_map_[static_cast<size_t>(id)];
  if (mapped < 0) mapped = vocabulary_.intern(from.word(id));
  return mapped;
}

void PoolWriter::add(const Forest& forest) {
  if (mapped_from_ != forest.vocabulary()) {
    mapped_from_ = forest.vocabulary();
    word_map_.clear();
  }
  ForestView arrays = forest.arrays();
  std::vector<int32_t> target(arrays.target.begin(), arrays.target.end());
  std::vector<int32_t> symbols(arrays.symbols.begin(), arrays.symbols.end());
  for (int32_t& symbol : target) {
    if (symbol >= 0) symbol = word(*mapped_from_, symbol);
  }
  for (int32_t& symbol : symbols) {
    if (symbol >= 0) symbol = word(*mapped_from_, symbol);
  }
  arrays.target = target;
  arrays.symbols = symbols;

  BlockHeader header{};
  header.goal = forest.goal().has_value() ? int64_t{*forest.goal()} : -1;
  header.id_size = forest.id().size();
  size_t k = 0;
  visit_arrays(arrays, [&](const auto& array) { header.counts[k++] = array.size(); });
  // Assembles the block in memory, since its checksum precedes it.
  std::string block(reinterpret_cast<const char*>(&header), sizeof(header));
  const auto put = [&](const void* data, size_t size) {
    block.append(static_cast<const char*>(data), size);
    block.resize(padded(block.size(), 8), '\0');
  };
  put(forest.id().data(), forest.id().size());
  visit_arrays(arrays, [&](const auto& array) { put(array.data(), array.size_bytes()); });
  block.resize(padded(block.size(), kAlign), '\0');
  Checksum sum;
  sum.update(block.data() + sizeof(header.checksum), block.size() - sizeof(header.checksum));
  const uint64_t digest = sum.digest();
  std::memcpy(block.data(), &digest, sizeof(digest));
  file_.append(block.data(), block.size());
  index_.insert(index_.end(), {position_, block.size()});
  position_ += block.size();
}

void PoolWriter::add_names(const Forest& forest) {
  if (forest.names() == nullptr) return;
  for (const FeatureId id : forest.arrays().feature_ids) {
    if (names_.has(id) || !forest.names()->has(id)) continue;
    names_.intern(forest.names()->name(id));
    named_.push_back(id);
  }
}

void PoolWriter::finish() {
  file_.add("index", std::span<const uint64_t>(index_));
  write_strings(file_, "words", static_cast<size_t>(vocabulary_.size()),
                [&](size_t i) { return vocabulary_.word(static_cast<int32_t>(i)); });
  write_strings(file_, "names", named_.size(), [&](size_t i) { return names_.name(named_[i]); });
  file_.finish();
}

std::shared_ptr<const Pool> Pool::open(const std::string& path) {
  const std::shared_ptr<Pool> pool(new Pool(BinaryFile::open(path, kForestKind, "forests")));
  const BinaryFile& file = pool->file_;
  pool->blocks_ = file.section<char>("forests");
  pool->index_ = file.section<uint64_t>("index");
  if (pool->index_.size() % 2 != 0) throw file.damaged("index");
  uint64_t position = 0;
  for (size_t i = 0; i < pool->index_.size(); i += 2) {
    const uint64_t offset = pool->index_[i], size = pool->index_[i + 1];
    const bool fits = offset == position && size <= pool->blocks_.size() - position;
    if (!fits || size < sizeof(BlockHeader) || size % kAlign != 0) throw file.damaged("index");
    position += size;
  }
  pool->vocabulary_ = std::make_shared<Vocabulary>();
  pool->names_ = std::make_shared<FeatureNames>();
  int32_t words = 0;
  read_strings(file, "words", [&](std::string_view word) {
    if (pool->vocabulary_->intern(word) != words++) throw file.damaged("a word occurs twice");
  });
  read_strings(file, "names", [&](std::string_view name) {
    try {
      pool->names_->intern(name);
    } catch (const InputError& error) {
      throw InputError(path + ": " + error.what());
    }
  });
  pool->checked_ = std::vector<std::atomic<uint8_t>>(pool->size());
  return pool;
}

Forest Pool::get(const std::shared_ptr<const Pool>& pool, size_t index) {
  if (index >= pool->size()) throw std::out_of_range("no such forest");
  const char* const begin = pool->blocks_.data() + pool->index_[2 * index];
  const uint64_t size = pool->index_[2 * index + 1];
  const auto damaged = [&](const std::string& why) {
    return pool->file_.damaged("forest " + std::to_string(index) + ": " + why);
  };
  BlockHeader header;
  std::memcpy(&header, begin, sizeof(header));
  const bool known = pool->checked_[index].load(std::memory_order_acquire) != 0;
  if (!known) {
    Checksum sum;
    sum.update(begin + sizeof(header.checksum), size - sizeof(header.checksum));
    if (sum.digest() != header.checksum) throw damaged("checksum differs");
  }
  uint64_t at = sizeof(header);
  const auto take = [&](uint64_t count, uint64_t width) {
    const char* const from = begin + at;
    if (count > (size - at) / width) throw damaged("an array is too long");
    at = std::min(size, padded(at + count * width, 8));
    return from;
  };
  const std::string id(take(header.id_size, 1), header.id_size);
  ForestView arrays;
  size_t k = 0;
  visit_arrays(arrays, [&](auto& array) {
    using T = typename std::remove_reference_t<decltype(array)>::element_type;
    const uint64_t count = header.counts[k++];
    array = {reinterpret_cast<T*>(take(count, sizeof(T))), count};
  });
  if (!known) {
    const std::string fault = fault_of(arrays, header.goal, pool->vocabulary_->size());
    if (!fault.empty()) throw damaged(fault);
    pool->checked_[index].store(1, std::memory_order_release);
  }
  return Forest(arrays, pool, header.goal, id, pool->vocabulary_, pool->names_);
}

}  // namespace hopefear
