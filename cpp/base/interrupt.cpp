#include "base/interrupt.hpp"

#include <atomic>
#include <chrono>
#include <utility>

#include "base/error.hpp"

namespace hopefear {
namespace {
std::atomic<InterruptHook> interrupt_hook{nullptr};
thread_local std::shared_ptr<const StopSign> sign_here;
}  // namespace

void set_interrupt_hook(InterruptHook hook) { interrupt_hook.store(hook); }

void heed(std::shared_ptr<const StopSign> sign) { sign_here = std::move(sign); }

void poll_interrupt() {
  if (sign_here != nullptr && sign_here->is_set()) throw Interrupted();
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
