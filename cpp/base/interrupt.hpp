// Ctrl-C inside long engine calls. Long loops call poll_interrupt() every few thousand steps on the
// thread that entered the engine; it looks at the clock and asks Python at most 20 times a second.
//
// Python hears of signals on its main thread only. Other threads of Python that call the engine
// heed a StopSign, which whoever started them sets when nobody wants their results any more.
#pragma once

#include <atomic>
#include <memory>

namespace hopefear {

using InterruptHook = bool (*)();  // true: stop now

// Set once by the binding layer; without it (C++ tests) nothing ever interrupts.
void set_interrupt_hook(InterruptHook hook);

class StopSign {
 public:
  void set() { set_.store(true, std::memory_order_relaxed); }
  bool is_set() const { return set_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> set_{false};
};

// From now on the calling thread's engine calls stop when the sign is set; null: at none.
void heed(std::shared_ptr<const StopSign> sign);

// Throws Interrupted if the user asked to stop or the thread's sign is set. Only the thread that
// entered the engine asks; on any other thread this does nothing.
void poll_interrupt();

}  // namespace hopefear
