#include "lm/estimate_storage.hpp"

#include <sys/mman.h>

#include <new>

namespace hopefear::lm::estimation {

Pages::Pages(size_t size) : size_(size) {
  void* p = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<char*>(p);
}

Pages::~Pages() { ::munmap(data_, size_); }

char* ChunkPool::take() {
  if (!free_.empty()) {
    char* chunk = free_.back();
    free_.pop_back();
    return chunk;
  }
  if (used_ + chunk_bytes_ > pages_.size()) return nullptr;
  char* chunk = pages_.data() + used_;
  used_ += chunk_bytes_;
  return chunk;
}

}  // namespace hopefear::lm::estimation
