#pragma once

/// \file
/// What other processes have of a device, and what follows for a candidate's verdict.

#include <cstdint>
#include <optional>
#include <string>

#include <kernelgen/core/outcome.hpp>
#include <kernelgen/judge/judge.hpp>

#include "bench/evaluation.hpp"

namespace kernelgen {
inline namespace v0 {

/// As far as it can be known. A judge that cannot tell is not healthy any more, and says nothing about a candidate:
/// what else is asked of it will fail with a reason of its own.
[[nodiscard]] std::optional<DeviceUse> device_use(JudgeSession& session);

/// With the runner gone: its memory may take the driver a while.
[[nodiscard]] std::optional<DeviceUse> settled_device_use(JudgeSession& session);

/// The label of a record whose device other processes hold much memory of; nothing else where it is little.
[[nodiscard]] std::optional<std::string> sharing_label(const DeviceUse& use);

/// Of a candidate that held so many bytes of a device that its judge had none.
[[nodiscard]] Outcome greedy_outcome(std::uint64_t held_bytes, const DeviceUse& use);

/// Memory of a device that ran out where others hold much of it blames nobody: nobody can tell whose fault it was.
[[nodiscard]] Outcome excuse_memory(Outcome verdict, const DeviceUse& use);

}  // namespace v0
}  // namespace kernelgen
