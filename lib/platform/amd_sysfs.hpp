#pragma once

/// \file
/// What AMD's driver tells in files of the system, without a process on the device.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <kernelgen/platform/platform.hpp>

namespace kernelgen {
inline namespace v0 {

/// The device nodes for the GPU with this UUID, or for all GPUs if its own node is not known.
[[nodiscard]] std::vector<std::string> amd_nodes(const std::string& uuid, const std::filesystem::path& root);

/// What that GPU does now; nothing for one that the driver does not list.
[[nodiscard]] std::optional<GpuUse> read_amd_use(const std::string& uuid, const std::filesystem::path& root);

/// What keeps programs from a machine's AMD GPUs: the driver is not loaded, or a node is not there or not open.
[[nodiscard]] std::optional<PlatformProblem> find_amd_problem(const std::filesystem::path& root);

}  // namespace v0
}  // namespace kernelgen
