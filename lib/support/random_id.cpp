#include "support/random_id.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

// Verdicts rely on secret seeds, so there is no weaker source to fall back to.
void fill(void* bytes, std::size_t size) {
  auto* next = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t count = ::getrandom(next, size, 0);
    if (count < 0) {
      if (errno == EINTR) continue;
      std::abort();
    }
    next += count;
    size -= static_cast<std::size_t>(count);
  }
}

}  // namespace

std::string random_hex(std::size_t bytes) {
  std::array<char, 256> buffer{};
  bytes = std::min(bytes, buffer.size());
  fill(buffer.data(), bytes);
  return hex_encode({buffer.data(), bytes});
}

std::uint64_t random_u64() {
  std::uint64_t value = 0;
  fill(&value, sizeof value);
  return value;
}

}  // namespace v0
}  // namespace kernelgen
