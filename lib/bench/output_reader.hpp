#pragma once

/// \file
/// Reads the outputs of a Python candidate out of its stopped process. If the runner copied them itself, after its
/// clock has stopped, a forged clock could hide work in that time.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <kernelgen/core/result.hpp>

#include "judge/judge.hpp"

namespace kernelgen {
inline namespace v0 {

/// Fills `into` with what lies at `address` in another process. Returns 0 or an errno: EFAULT when any of it cannot be
/// read there (some of `into` may be filled then), ESRCH when the process is gone, EPERM when it is out of reach.
[[nodiscard]] int read_process_memory(pid_t pid, std::uint64_t address, std::span<std::byte> into);

/// The output segments of an exchange arena, mapped here. Move-only.
class OutputReader {
 public:
  /// Maps the arena. `outputs` lie within it, in the order of the job. Borrows nothing.
  [[nodiscard]] static Result<OutputReader> map(int exchange_fd, std::uint64_t bytes, std::vector<ByteRange> outputs);
  OutputReader(OutputReader&& other) noexcept;
  OutputReader& operator=(OutputReader&& other) noexcept;
  OutputReader(const OutputReader&) = delete;
  OutputReader& operator=(const OutputReader&) = delete;
  ~OutputReader();

  /// Fills every output from the address given for it: exactly its bytes, whatever the address is worth.
  /// Returns the same as read_process_memory; EINVAL when there is not one address for each output.
  [[nodiscard]] int read(pid_t pid, std::span<const std::uint64_t> addresses) const;
  [[nodiscard]] std::size_t count() const { return outputs_.size(); }
  /// The bytes of all outputs together.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  OutputReader(std::byte* arena, std::uint64_t mapped, std::vector<ByteRange> outputs);

  std::byte* arena_ = nullptr;
  std::uint64_t mapped_ = 0;
  std::vector<ByteRange> outputs_;
};

}  // namespace v0
}  // namespace kernelgen
