#pragma once

/// \file
/// The use of a device by foreign processes, and its effect on a candidate's verdict.

#include <cstdint>
#include <optional>
#include <string>

#include <kernelgen/core/outcome.hpp>

#include "bench/evaluation.hpp"
#include "judge/judge.hpp"

namespace kernelgen {
inline namespace v0 {

/// The use of the session's device now; nothing where it is unknown. A judge that fails to answer is marked as not
/// healthy; its later requests report the reason.
[[nodiscard]] std::optional<DeviceUse> device_use(JudgeSession& session);

/// The use of the device once the driver has freed the runner's memory. Requires: the runner has ended.
[[nodiscard]] std::optional<DeviceUse> device_use_after_exit(JudgeSession& session);

/// The label for a device of which foreign processes hold much memory; nothing where they hold little.
[[nodiscard]] std::optional<std::string> sharing_label(const DeviceUse& use);

/// The outcome of a candidate that took so much memory of the device that its judge had too little.
[[nodiscard]] Outcome outcome_of_exhausted_memory(std::uint64_t held_bytes, const DeviceUse& use);

/// Turns a failure for lack of device memory into the suspicion "memory in use" if foreign processes hold much of it,
/// because either they or the candidate may be the cause. Other verdicts stay as they are.
[[nodiscard]] Outcome reattribute_memory_failure(Outcome verdict, const DeviceUse& use);

}  // namespace v0
}  // namespace kernelgen
