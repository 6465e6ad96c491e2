#pragma once

/// \file
/// AMD's emulator rocjitsu: it executes the machine code of AMD GPUs on the processor, below an unchanged ROCm. The
/// dynamic linker loads it into the program that uses the GPU.

#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include <kernelgen/core/result.hpp>
#include <kernelgen/device/gpu.hpp>
#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace v0 {

/// Absolute paths of its parts.
struct Emulator {
  std::string library;
  /// The configuration, which describes the GPU.
  std::string config;
};

/// The name of its GPU, in place of an index.
inline constexpr std::string_view k_emulated_gpu = "amd:emulated";

/// The emulator that KGEN_ROCJITSU and KGEN_ROCJITSU_CONFIG name. MissingTool says what to set.
[[nodiscard]] Result<Emulator> find_emulator(const std::map<std::string, std::string>& environment);

/// The environment of a program that uses its GPU. The program keeps files in `directory`, and reads the path of the
/// configuration there.
[[nodiscard]] std::map<std::string, std::string> emulated_environment(std::map<std::string, std::string> environment,
                                                                      const Emulator& emulator,
                                                                      const std::string& directory);

/// The GPU that it emulates, as ROCm sees it. MissingDevice says why there is none.
[[nodiscard]] Result<GpuFacts> read_emulated_gpu(const Emulator& emulator, GpuProbeOptions options,
                                                 const GpuCatalog& catalog, ProcessRunner& runner,
                                                 std::stop_token stop);

}  // namespace v0
}  // namespace kernelgen
