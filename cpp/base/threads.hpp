// Parallel loops whose result does not depend on the number of threads: every index writes to its
// own place, and sums are taken afterwards in index order.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "base/interrupt.hpp"

namespace hopefear {

// Calls f(index) for all indices below n, on up to `threads` threads (the caller's is one of them),
// in any order. If calls throw, the exception of the smallest index seen is rethrown after all
// threads have stopped.
template <typename F>
void parallel_for(size_t n, size_t threads, F&& f) {
  std::atomic<size_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::exception_ptr first;
  size_t first_index = n;
  const auto work = [&](bool entered) {
    for (size_t i = next++; i < n && !stop.load(std::memory_order_relaxed); i = next++) {
      try {
        if (entered) poll_interrupt();
        f(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i < first_index || first == nullptr) {
          first_index = i;
          first = std::current_exception();
        }
        stop = true;
      }
    }
  };
  std::vector<std::thread> pool;
  try {
    for (size_t t = 1; t < threads && t < n; ++t) pool.emplace_back([&] { work(false); });
  } catch (const std::system_error&) {  // no more threads available: those started do all the work
  } catch (const std::bad_alloc&) {     // no memory for another
  }
  work(true);
  for (std::thread& thread : pool) thread.join();
  if (first != nullptr) std::rethrow_exception(first);
}

}  // namespace hopefear
