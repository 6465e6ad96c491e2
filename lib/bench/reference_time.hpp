#pragma once

#include <optional>
#include <stop_token>

#include <kernelgen/core/result.hpp>
#include <kernelgen/core/task.hpp>

#include "bench/evaluation.hpp"

namespace kernelgen {
inline namespace v0 {

/// Times a few calls of the reference alone, for prompts; on a GPU also replays. It acquires the device for that.
/// Nothing where other work took the processor meanwhile.
[[nodiscard]] Result<std::optional<ReferenceTime>> time_reference_alone(JudgeSession& session, DeviceGate& gate,
                                                                        bool on_gpu, std::stop_token stop);

}  // namespace v0
}  // namespace kernelgen
