// hash64() of strings with a common prefix, most of which is processed only once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hopefear {

// hash(tail) is hash64(prefix + tail), in the time that the tail takes and about a nanosecond per 8
// bytes of the prefix.
class PrefixHash {
 public:
  explicit PrefixHash(std::string prefix);
  const std::string& prefix() const { return prefix_; }
  uint64_t hash(std::string_view tail) const;

 private:
  std::string prefix_;
  std::vector<uint64_t> mixed_;  // mix64() of its complete words of 8 bytes
};

}  // namespace hopefear
