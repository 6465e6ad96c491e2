#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kgen_runner {

/// The command line of kgen-runner. Only the worker starts it.
struct Options {
  int control = -1;                 ///< --control N: SOCK_SEQPACKET socket
  int status = -1;                  ///< --status N: write end of the status pipe
  std::optional<int> log;           ///< --log N: pipe for the candidate's output, written without blocking
  int threads = 1;                  ///< --threads N: until the job gives its number
  std::uint64_t memory_bytes = 0;   ///< --memory-bytes N: address space of the candidate
  std::uint64_t scratch_bytes = 0;  ///< --scratch-bytes N: private /tmp and friends
  std::optional<std::string> gpu;   ///< --gpu UUID: the device that the candidate works on
  /// --gpu-variable NAME: the environment variable that makes a process see this device only.
  std::optional<std::string> gpu_variable;
  /// --gpu-node FILE, repeated: the device nodes that it needs.
  std::vector<std::string> gpu_nodes;
  /// --emulator FILE: the configuration of the emulator that the dynamic linker has loaded. It executes device code.
  std::optional<std::string> emulator;
  std::optional<std::string> cupti;  ///< --cupti PATH: the library that reports what the device does
  std::vector<std::string> hidden;   ///< --hide PATH, may be repeated
  std::vector<std::string> visible;  ///< --show PATH, may be repeated
};

struct OptionsResult {
  std::optional<Options> options;
  std::string error;
};

[[nodiscard]] OptionsResult parse_options(int argc, const char* const* argv);

}  // namespace kgen_runner
