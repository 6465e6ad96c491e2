#pragma once

/// \file
/// Platforms: everything that the maker of a GPU decides. No other code tests for a vendor.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// What makers call the same things.
struct PlatformWords {
  std::string multiprocessor = "SM";
  std::string shared_memory = "shared memory";
  std::string warp = "warp";
  /// The type of a stream in sources.
  std::string stream_type = "cudaStream_t";
  /// The beginning of the names of the runtime's functions.
  std::string runtime_prefix = "cuda";
};

/// The compiler of native candidates for a platform's GPUs.
enum class DeviceCompiler {
  None,
  Nvcc,
  Hipcc,
  HostCpp,  ///< the kernels of a device that is none are host code
};

/// The program that reads a GPU's counters: Nsight Compute, or rocprofv3 and its predecessor rocprof.
enum class CounterProgram { None, Ncu, Rocprof };

/// What a GPU does now, as its driver tells it in files. What is not told is unset.
struct GpuUse {
  /// The part of the last moments in which it worked.
  std::optional<int> busy_percent{};
  /// Device memory that all processes hold together.
  std::optional<std::uint64_t> memory_used_bytes{};
  std::optional<std::uint64_t> memory_total_bytes{};
  std::optional<int> multiprocessor_mhz{};
  std::optional<int> memory_mhz{};

  /// True if processes work on it.
  [[nodiscard]] bool is_busy() const;
  /// True if processes work on it, or hold more than a sixteenth of its memory.
  [[nodiscard]] bool is_used() const;
  /// "busy 12 %, memory 3.5 of 64 GiB, clock 1700 MHz, memory clock 1600 MHz"; empty if nothing is told.
  [[nodiscard]] std::string to_line() const;
};

/// What keeps programs from a maker's GPUs, and what helps.
struct PlatformProblem {
  /// "/dev/kfd is not open to this user".
  std::string what;
  /// "sudo usermod -aG render,video $USER, and log in again".
  std::string remedy;
};

/// One maker's GPUs.
struct Platform {
  /// The name in GpuFacts::vendor: "nvidia".
  std::string vendor;
  /// "NVIDIA".
  std::string maker;
  /// The software that a driver's version counts: "CUDA", "ROCm".
  std::string toolkit;
  PlatformWords words{};

  /// The vendor's number on the PCI bus, as sysfs has it: "0x10de".
  std::string pci_vendor{};
  /// The device nodes that a process needs for the GPU with this UUID; below `root`, a file system. Where the
  /// GPU's own node cannot be told from others, those of all GPUs.
  std::function<std::vector<std::string>(const std::string& uuid, const std::filesystem::path& root)> device_nodes =
      [](const std::string&, const std::filesystem::path&) { return std::vector<std::string>{}; };
  /// What the GPU with this UUID does now; nothing where the driver tells it in no file. It starts no process.
  std::function<std::optional<GpuUse>(const std::string& uuid, const std::filesystem::path& root)> read_use =
      [](const std::string&, const std::filesystem::path&) { return std::optional<GpuUse>(); };
  /// What keeps programs from the GPUs of a machine with such a card: a driver that is not loaded, a node that is not
  /// there or not open to this user. Nothing where no such thing is found.
  std::function<std::optional<PlatformProblem>(const std::filesystem::path& root)> find_node_problem =
      [](const std::filesystem::path&) { return std::optional<PlatformProblem>(); };
  /// What keeps this user from reading counters; nothing where nothing is known to.
  std::function<std::optional<PlatformProblem>(const std::filesystem::path& root)> find_counter_problem =
      [](const std::filesystem::path&) { return std::optional<PlatformProblem>(); };
  /// The environment variable that makes a process see one GPU only, by its UUID.
  std::string choosing_variable{};
  /// The environment variables that may hide GPUs from the driver.
  std::vector<std::string> hiding_variables{};

  /// What kernels of an architecture have to know about it, in words: "wave64", "mfma". A prompt has a variable
  /// has_WORD for each. None: the architecture is unknown, or prompts say the same for all.
  std::function<std::vector<std::string>(std::string_view architecture)> kernel_features = [](std::string_view) {
    return std::vector<std::string>{};
  };

  DeviceCompiler compiler = DeviceCompiler::None;
  CounterProgram counters = CounterProgram::None;
  /// True if code objects tell what kernels need, also without a device.
  bool has_code_metadata = false;
  /// True if CUPTI tells what runs on a device.
  bool has_cupti = false;
  /// True if compute-sanitizer watches its kernels.
  bool has_compute_sanitizer = false;
  /// Folders of public builds of torch ("cu130", "rocm6.3"), each with the oldest driver that serves it, as
  /// GpuFacts::driver_version has it; the newest first, and at last one for every driver.
  std::vector<std::pair<int, std::string>> torch_builds{};
  /// The command that lists the processes on the devices, one a line; to be shown. Empty: there is none.
  std::vector<std::string> process_list{};
  /// How to install a driver.
  std::string driver_remedy{};
  /// How to install the compiler.
  std::string compiler_remedy{};
  /// Blocks of fewer threads leave a multiprocessor's slots for blocks occupied and its warps unused; 0: no such rule.
  int few_threads_per_block = 0;

  /// The label of records with times that are no results; empty for hardware.
  std::string label{};
  /// True for a stand-in that serves targets of every vendor.
  bool serves_all = false;
};

/// The platform of a vendor; one without a name or abilities for a vendor that is not known. The reference stays
/// valid.
[[nodiscard]] const Platform& platform_of(std::string_view vendor);

/// All platforms, in the order in which their drivers are asked.
[[nodiscard]] std::vector<const Platform*> platforms();

/// Adds a platform, or replaces the one of this vendor. Thread-safe.
void add_platform(Platform platform);

/// The programs that list the processes on GPUs, for messages: "`nvidia-smi` or `rocm-smi`".
[[nodiscard]] std::string process_programs();

/// Whether a GPU of `vendor` runs kernels for GPUs of `wanted`; an empty `wanted` means any.
[[nodiscard]] bool serves_vendor(std::string_view vendor, std::string_view wanted);

}  // namespace v0
}  // namespace kernelgen
