// Ctrl-C inside long engine calls. Long loops call poll_interrupt() every few thousand steps on the
// thread that entered the engine; it looks at the clock and asks Python at most 20 times a second.
#pragma once

namespace hopefear {

using InterruptHook = bool (*)();  // true: stop now

// Set once by the binding layer; without it (C++ tests) nothing ever interrupts.
void set_interrupt_hook(InterruptHook hook);

// Throws Interrupted if the user asked to stop. Only the thread that entered the engine asks; on
// any other thread this does nothing.
void poll_interrupt();

}  // namespace hopefear
