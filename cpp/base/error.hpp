// Errors that the user can correct. The binding layer turns InputError into
// hopefear.base.errors.InputError, which the command line prints in one line with exit code 2. Any
// other exception is a bug.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace hopefear {

// The message says place, value, expectation and remedy:
//   "lm.arpa:1042: expected 3 words, found 2; re-create the file"
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A file that cannot be opened, read or written. Becomes OSError(errno, strerror, path) in Python.
class FileError : public std::runtime_error {
 public:
  FileError(int error_number, std::string file_path);
  int number;
  std::string path;
};

// Quotes a word or line of a file for a message: shortened, without control characters.
std::string shown(std::string_view text);

// Thrown by poll_interrupt(); the pending Python exception is already set.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

}  // namespace hopefear
