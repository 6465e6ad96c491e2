#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace kernelgen {
inline namespace v0 {

/// Secret random bytes from the operating system, as lower-case hex. At most 256 bytes at a time.
[[nodiscard]] std::string random_hex(std::size_t bytes);

/// A secret random number from the operating system.
[[nodiscard]] std::uint64_t random_u64();

/// A unique name for a record: 32 hexadecimal digits.
[[nodiscard]] inline std::string random_id() { return random_hex(16); }

}  // namespace v0
}  // namespace kernelgen
