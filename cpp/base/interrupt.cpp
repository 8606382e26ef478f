#include "base/interrupt.hpp"

#include <atomic>
#include <chrono>

#include "base/error.hpp"

namespace hopefear {
namespace {
std::atomic<InterruptHook> interrupt_hook{nullptr};
}

void set_interrupt_hook(InterruptHook hook) { interrupt_hook.store(hook); }

void poll_interrupt() {
  using Clock = std::chrono::steady_clock;
  thread_local Clock::time_point next{};
  const InterruptHook hook = interrupt_hook.load(std::memory_order_relaxed);
  if (hook == nullptr) return;
  const auto now = Clock::now();
  if (now < next) return;
  next = now + std::chrono::milliseconds(50);
  if (hook()) throw Interrupted();
}

}  // namespace hopefear
