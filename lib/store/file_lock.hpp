#pragma once

#include <filesystem>

#include <kernelgen/core/result.hpp>

#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {

/// Opens `file` for reading and appending, made when missing, and locks it for this process until it is closed. Busy,
/// naming `resource`, when another process has it. The kernel lets go of the lock when a process dies, however it dies.
[[nodiscard]] Result<UniqueFd> open_locked(const std::filesystem::path& file, const std::filesystem::path& resource);

}  // namespace v0
}  // namespace kernelgen
