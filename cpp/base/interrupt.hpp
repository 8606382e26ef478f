// Ctrl-C inside long engine calls. Long loops call poll_interrupt() every few thousand steps on the
// thread that entered the engine; it looks at the clock and asks Python at most 20 times a second.
//
// Python receives signals on its main thread only. Its other threads that call the engine observe a
// StopSign, set by the thread that started them when their results are no longer needed.
#pragma once

#include <atomic>
#include <memory>

namespace hopefear {

using InterruptHook = bool (*)();  // true: stop now

// Set once by the binding layer; without a hook (C++ tests) there are no interrupts.
void set_interrupt_hook(InterruptHook hook);

class StopSign {
 public:
  void set() { set_.store(true, std::memory_order_relaxed); }
  bool is_set() const { return set_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> set_{false};
};

// Makes engine calls of the calling thread stop once the sign is set; null removes the sign.
void heed(std::shared_ptr<const StopSign> sign);

// Throws Interrupted if the user asked to stop or the thread's sign is set. Does nothing on threads
// other than the one that entered the engine.
void poll_interrupt();

}  // namespace hopefear
