#pragma once

/// \file
/// The use of a device by foreign processes, and what follows for a candidate's verdict.

#include <cstdint>
#include <optional>
#include <string>

#include <kernelgen/core/outcome.hpp>

#include "bench/evaluation.hpp"
#include "judge/judge.hpp"

namespace kernelgen {
inline namespace v0 {

/// The use of the session's device now; nothing where it is unknown. A judge that fails to answer is marked as not
/// healthy: its later requests will fail with a reason of their own.
[[nodiscard]] std::optional<DeviceUse> device_use(JudgeSession& session);

/// The same once the driver has freed the memory of the runner. Requires: the runner is gone.
[[nodiscard]] std::optional<DeviceUse> settled_device_use(JudgeSession& session);

/// The label for a device of which foreign processes hold much memory; nothing where they hold little.
[[nodiscard]] std::optional<std::string> sharing_label(const DeviceUse& use);

/// The outcome of a candidate that held so many bytes of a device that its judge had none.
[[nodiscard]] Outcome greedy_outcome(std::uint64_t held_bytes, const DeviceUse& use);

/// Turns a failure for lack of device memory into the suspicion "memory in use" where foreign processes hold much of
/// it: it cannot be told whether the candidate or they are to blame. Other verdicts stay as they are.
[[nodiscard]] Outcome reattribute_memory_failure(Outcome verdict, const DeviceUse& use);

}  // namespace v0
}  // namespace kernelgen
