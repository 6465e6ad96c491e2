#pragma once

/// \file
/// What GPUs are there, what they can do, and what is known of those that are not there.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Facts for records, prompts and limits. A plain value. Sizes in bytes, clocks in kHz; a number that nobody tells is 0
/// or absent. A multiprocessor is an SM, or a compute unit (CU) with AMD; shared memory is LDS there, a warp a
/// wavefront.
struct GpuFacts {
  /// In the driver's order, after CUDA_VISIBLE_DEVICES.
  int index = 0;
  /// "nvidia", "amd"; "fake" for the device of the tests, whose times are no results.
  std::string vendor;
  /// As the driver says it: "NVIDIA H200".
  std::string name;
  /// "GPU-aabbccdd-..."; empty for a device that is not there.
  std::string uuid;
  /// What compilers call it: "sm_90", "gfx942".
  std::string architecture;
  /// The newest CUDA that the driver serves: 13000 is 13.0.
  int driver_version = 0;
  /// The name in the catalog; empty for a device that it does not list.
  std::string model;

  int multiprocessors = 0;
  int warp_threads = 0;
  int threads_per_block = 0;
  int threads_per_multiprocessor = 0;
  /// Of 32 bits.
  int registers_per_block = 0;
  int registers_per_multiprocessor = 0;
  /// The highest clock of a multiprocessor.
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  std::uint64_t shared_bytes_per_block = 0;
  /// After a kernel asked for more than the default.
  std::uint64_t shared_bytes_per_block_optin = 0;
  std::uint64_t shared_bytes_per_multiprocessor = 0;
  std::uint64_t l2_bytes = 0;
  /// Of a cache between L2 and memory (AMD's Infinity Cache); 0 where there is none.
  std::uint64_t memory_cache_bytes = 0;
  std::uint64_t memory_bytes = 0;
  /// All blocks of a grid can meet at a barrier.
  bool cooperative_launch = false;

  /// What the memory could do: as the vendor states it, else from clock and bus.
  std::optional<double> memory_bytes_per_second{};
  /// Read plus written by the best of several large copies within the device; see measure_gpu_bandwidth.
  std::optional<double> measured_bytes_per_second{};
  /// Peaks as the vendor states them, in operations per second; without sparsity. The last two are those of the matrix
  /// units with sums in fp32.
  std::optional<double> fp32_per_second{};
  std::optional<double> tf32_per_second{};
  std::optional<double> fp16_per_second{};

  /// "NVIDIA H200 (sm_90), 132 SMs, 140 GiB".
  [[nodiscard]] std::string to_line() const;
};

/// "13.0" of 13000.
[[nodiscard]] std::string format_driver_version(int driver_version);

/// A GPU that one can buy.
struct GpuModel {
  /// name and model are its name; there is no index, UUID or driver.
  GpuFacts facts;
  /// What else it is called, by its driver for one: "H100 80GB HBM3". Several models may share a name ("A100"); the
  /// first one in the catalog is meant then.
  std::vector<std::string> also;
  /// Where the numbers are from.
  std::string source;
};

/// Models in the order of the data file.
using GpuCatalog = std::vector<GpuModel>;

/// Reads Installation::devices_dir/gpus.json. Protocol with the place when it is not what it should be.
[[nodiscard]] Result<GpuCatalog> read_gpu_catalog(const std::filesystem::path& devices_dir);

/// Every model that `name` may mean, most likely first. Case, blanks, hyphens, word order and words like "NVIDIA",
/// "GeForce" and "Instinct" do not matter: "h100", "NVIDIA H100 80GB HBM3", "rtx4090". Empty for an unknown name.
[[nodiscard]] std::vector<const GpuModel*> find_gpu_models(const GpuCatalog& catalog, std::string_view name);

/// How the GPUs of this machine are asked.
struct GpuProbeOptions {
  /// kgen-gpu (Installation::gpu_probe).
  std::filesystem::path program;
  /// Its whole environment; CUDA_VISIBLE_DEVICES and LD_LIBRARY_PATH count.
  std::map<std::string, std::string> environment;
  /// Measured bandwidths are kept in devices/ below it. Empty: they are not.
  std::filesystem::path cache_dir;
};

/// What a machine has.
struct GpuReading {
  std::vector<GpuFacts> gpus;
  /// Why there are none: "there is no CUDA driver (libcuda.so.1) on this machine".
  std::string reason;
};

/// Asks the driver, in a process of its own. Fills in what the catalog and earlier measurements know. A machine without
/// GPU or driver is an empty list with a reason; an Error only when kgen-gpu cannot be run or says what it should not.
[[nodiscard]] Result<GpuReading> read_gpus(const GpuProbeOptions& options, const GpuCatalog& catalog,
                                           ProcessRunner& runner, std::stop_token stop);

/// GpuFacts::measured_bytes_per_second: measured once for each UUID and driver version, then kept. Nobody else should
/// use the device meanwhile (a second); what is far below the stated bandwidth is not kept. A cache that cannot be
/// written does not matter.
[[nodiscard]] Result<double> measure_gpu_bandwidth(const GpuFacts& gpu, const GpuProbeOptions& options,
                                                   ProcessRunner& runner, std::stop_token stop);

/// The GPU that somebody asked for: by index ("1"), UUID (or its beginning, with "GPU-"), or name; empty: the first.
/// MissingDevice, with what there is, when there is no such GPU.
[[nodiscard]] Result<GpuFacts> choose_gpu(const GpuReading& reading, const GpuCatalog& catalog, std::string_view asked);

/// The first GPU and those of the same model: what is measured on one of them may stand beside what is measured on
/// another. Where nobody asks for a device, these are meant.
[[nodiscard]] std::vector<GpuFacts> gpus_like_first(const GpuReading& reading);

}  // namespace v0
}  // namespace kernelgen
