// What happens when a mapped file can no longer be read: it became shorter while in use, or its
// disk fails. The system then sends SIGBUS at the next access. For a guarded range the handler
// writes one line to stderr that names the file, and ends the process with exit code 2; other
// addresses are left to the handler that was there before.
#pragma once

#include <cstddef>
#include <string>

namespace hopefear {

struct MappedRange;

// Guards a range of memory until release_range(). Installs the handler at the first call.
MappedRange* guard_range(const char* begin, size_t size, const std::string& path);
void release_range(MappedRange* range);

}  // namespace hopefear
