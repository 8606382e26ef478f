#include "base/mapped_guard.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace hopefear {

// An element of a list that only grows, since the handler may be walking it: a released element is
// used again.
struct MappedRange {
  std::atomic<uintptr_t> begin{0};  // 0: not in use
  std::atomic<size_t> size{0};
  std::string message;
  MappedRange* next = nullptr;
};

namespace {

std::atomic<MappedRange*> first_range{nullptr};
std::mutex ranges_mutex;  // of those who guard and release; the handler takes none
struct sigaction previous_action;

void pass_on(int number, siginfo_t* info, void* context) {
  const struct sigaction& before = previous_action;
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  } else {
    ::sigaction(number, &before, nullptr);
    if (info->si_code <= 0) ::raise(number);  // sent by a process; a fault comes again by itself
  }
}

// Calls only functions that are safe in a signal handler.
void on_bus_error(int number, siginfo_t* info, void* context) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  const MappedRange* range = first_range.load(std::memory_order_acquire);
  for (; info->si_code > 0 && range != nullptr; range = range->next) {
    const uintptr_t begin = range->begin.load(std::memory_order_acquire);
    if (begin == 0 || at < begin || at - begin >= range->size.load(std::memory_order_relaxed)) {
      continue;
    }
    const char* text = range->message.data();
    size_t left = range->message.size();
    while (left > 0) {
      const ssize_t written = ::write(STDERR_FILENO, text, left);
      if (written <= 0) break;
      text += written;
      left -= static_cast<size_t>(written);
    }
    ::_exit(2);
  }
  pass_on(number, info, context);
}

bool install() {
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  return ::sigaction(SIGBUS, &action, &previous_action) == 0;
}

}  // namespace

MappedRange* guard_range(const char* begin, size_t size, const std::string& path) {
  [[maybe_unused]] static const bool installed = install();
  std::string message = "hopefear: " + path +
                        ": cannot be read any more: it became shorter while in use, or its disk "
                        "fails; restore the file and run the command again\n";
  const std::lock_guard lock(ranges_mutex);
  MappedRange* range = first_range.load(std::memory_order_relaxed);
  while (range != nullptr && range->begin.load(std::memory_order_relaxed) != 0) range = range->next;
  const bool added = range == nullptr;
  if (added) {
    range = new MappedRange;  // never deleted
    range->next = first_range.load(std::memory_order_relaxed);
  }
  range->message.swap(message);
  range->size.store(size, std::memory_order_relaxed);
  range->begin.store(reinterpret_cast<uintptr_t>(begin), std::memory_order_release);
  if (added) first_range.store(range, std::memory_order_release);
  return range;
}

void release_range(MappedRange* range) {
  const std::lock_guard lock(ranges_mutex);
  range->begin.store(0, std::memory_order_release);
}

}  // namespace hopefear
