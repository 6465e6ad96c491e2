#pragma once

/// \file
/// Reads the outputs of a Python candidate out of its stopped process. If the runner copied them itself, after its
/// clock has stopped, a forged clock could hide work in that time.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <kernelgen/core/result.hpp>

#include "bench/output_mappings.hpp"
#include "bench/runner.hpp"

namespace kernelgen {
inline namespace v0 {

/// Fills `into` with what lies at `address` in another process. Returns 0 or an errno: EFAULT when any of it cannot be
/// read there (some of `into` may be filled then), ESRCH when the process is gone, EPERM when it is out of reach.
[[nodiscard]] int read_process_memory(pid_t pid, std::uint64_t address, std::span<std::byte> into);

/// The output segments of an exchange arena, mapped here. Move-only.
class OutputReader {
 public:
  /// Maps the arena of a job. Borrows nothing.
  [[nodiscard]] static Result<OutputReader> map(const RunnerJob& job);
  OutputReader(OutputReader&& other) noexcept;
  OutputReader& operator=(OutputReader&& other) noexcept;
  OutputReader(const OutputReader&) = delete;
  OutputReader& operator=(const OutputReader&) = delete;
  ~OutputReader();

  /// Fills every output of a series of calls, which begins with `slot`, from the address given for it: exactly its
  /// bytes, whatever the address is worth. Returns the same as read_process_memory; EINVAL when the addresses are not
  /// one for each output of each call.
  [[nodiscard]] int read(pid_t pid, int slot, std::span<const std::uint64_t> addresses) const;
  /// Names the output that lies in memory which is not the process's own, and that memory; nothing if all of them lie
  /// in its own. Requires: a read() of the same addresses succeeded, and the process has been stopped since.
  [[nodiscard]] std::optional<std::string> find_foreign_memory(pid_t pid,
                                                               std::span<const std::uint64_t> addresses) const;
  /// The bytes of all outputs of a call together.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  OutputReader(std::byte* arena, std::uint64_t mapped, const RunnerJob& job);

  std::byte* arena_ = nullptr;
  std::uint64_t mapped_ = 0;
  std::vector<ByteRange> outputs_;
  std::uint64_t slots_ = 1;
  std::uint64_t slot_bytes_ = 0;
  MappedFile exchange_;
};

}  // namespace v0
}  // namespace kernelgen
