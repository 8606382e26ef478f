// A std::vector for large tables with random access: it requests 2 MB pages, so that a look-up
// costs one cache miss instead of two (the page table of a 400 MB table does not fit into the
// caches).
#pragma once

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cstdlib>
#include <new>
#include <vector>

namespace hopefear {

template <typename T>
struct LargeAllocator {
  using value_type = T;
  LargeAllocator() = default;
  template <typename U>
  LargeAllocator(const LargeAllocator<U>&) {}

  T* allocate(size_t n) {
    constexpr size_t kPage = size_t{2} << 20;
    const size_t bytes = n * sizeof(T);
    const bool large = bytes >= 4 * kPage;
    void* p =
        large ? std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage) : std::malloc(bytes);
    if (p == nullptr) throw std::bad_alloc();
#ifdef __linux__
    if (large) ::madvise(p, bytes, MADV_HUGEPAGE);  // advice: without it look-ups are slower
#endif
    return static_cast<T*>(p);
  }
  void deallocate(T* p, size_t) { std::free(p); }
  bool operator==(const LargeAllocator&) const { return true; }
};

template <typename T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace hopefear
