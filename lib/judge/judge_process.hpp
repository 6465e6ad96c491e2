#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "judge/judge.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {

/// A judge's part of a device on which other judges admit tasks at the same time.
struct DevicePart {
  /// Bytes of its memory; 0: all that is free.
  std::uint64_t device_bytes = 0;
  /// The number of parts. Limits of time are so many times as long.
  std::size_t parts = 1;
};

/// Options of a judge in its own process, forked from the zygote. The judge object kills and reaps `pid`.
struct JudgeProcessOptions {
  UniqueFd socket;
  pid_t pid = 0;
  /// Library with the cache flush, for timing the reference as candidates are timed.
  std::string support_library;
  /// Address space that the task may take.
  std::uint64_t memory_limit = 0;
  DevicePart part{};
};

[[nodiscard]] std::unique_ptr<Judge> make_judge_process(JudgeProcessOptions options);

}  // namespace v0
}  // namespace kernelgen
