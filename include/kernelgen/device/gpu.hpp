#pragma once

/// \file
/// The GPUs of this machine and their facts, and a catalog of other GPUs.

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

/// Facts for records, prompts and limits. A plain value. Sizes in bytes, clocks in kHz; an unknown number is 0 or
/// absent. A multiprocessor is an SM, or a compute unit (CU) with AMD; shared memory is LDS there, a warp a wavefront.
struct GpuFacts {
  /// Index in the drivers' order, after what their environment variables hide.
  int index = 0;
  /// Platform::vendor: "nvidia", "amd"; "fake" for the tests' device, with times that mean nothing.
  std::string vendor;
  /// The driver's name for it: "NVIDIA H200".
  std::string name;
  /// "GPU-aabbccdd-..."; empty for a catalog entry.
  std::string uuid;
  /// The compilers' name for it: "sm_90", "gfx942".
  std::string architecture;
  /// The newest CUDA or ROCm that the driver serves: 13000 is 13.0.
  int driver_version = 0;
  /// The name in the catalog; empty for a device that is not listed.
  std::string model;

  int multiprocessors = 0;
  int warp_threads = 0;
  int threads_per_block = 0;
  int threads_per_multiprocessor = 0;
  /// Registers of 32 bits.
  int registers_per_block = 0;
  int registers_per_multiprocessor = 0;
  /// The highest clock of a multiprocessor.
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  std::uint64_t shared_bytes_per_block = 0;
  /// Limit for a kernel that asks for more than the default.
  std::uint64_t shared_bytes_per_block_optin = 0;
  std::uint64_t shared_bytes_per_multiprocessor = 0;
  std::uint64_t l2_bytes = 0;
  /// Size of a cache between L2 and memory (AMD's Infinity Cache); 0 where there is none.
  std::uint64_t memory_cache_bytes = 0;
  std::uint64_t memory_bytes = 0;
  /// Whether all blocks of a grid can meet at a barrier.
  bool cooperative_launch = false;
  /// Whether it is a part of a processor (an APU), with the processor's memory.
  bool integrated = false;

  /// Peak bandwidth as stated by the vendor, else computed from clock and bus width.
  std::optional<double> memory_bytes_per_second{};
  /// Bytes read plus written by the best of several large copies within the device; see measure_gpu_bandwidth().
  std::optional<double> measured_bytes_per_second{};
  /// Peaks as stated by the vendor, in operations per second; without sparsity. The last two are those of the matrix
  /// units with sums in fp32.
  std::optional<double> fp32_per_second{};
  std::optional<double> tf32_per_second{};
  std::optional<double> fp16_per_second{};
  /// Most blocks of a cluster on every device of the architecture, and where a kernel asks for more; 0: there are no
  /// clusters, or it is unknown.
  int cluster_blocks = 0;
  int cluster_blocks_optin = 0;
  /// The cheapest barriers that were measured: of a cluster, and of all blocks of a grid. Unset: not measured.
  std::optional<double> cluster_barrier_ns{};
  std::optional<double> grid_barrier_ns{};
  /// How judge and runners share its memory: "virtual_memory" or "ipc_handle"; see find_memory_sharing(). Empty: it was
  /// not tried.
  std::string memory_sharing{};

  /// "NVIDIA H200 (sm_90), 132 SMs, 140 GiB".
  [[nodiscard]] std::string to_line() const;
};

/// "13.0" of 13000.
[[nodiscard]] std::string format_driver_version(int driver_version);

/// A GPU model of the catalog.
struct GpuModel {
  /// name and model are the model's name; there is no index, UUID or driver.
  GpuFacts facts;
  /// Other names, for instance its driver's: "H100 80GB HBM3". Several models may share a name ("A100"); the first one
  /// in the catalog is meant then.
  std::vector<std::string> aliases;
  /// Source of the numbers.
  std::string source;
};

/// Models in the order of the data file.
using GpuCatalog = std::vector<GpuModel>;

/// Reads Installation::devices_dir/gpus.json. Protocol, with the place, for malformed content.
[[nodiscard]] Result<GpuCatalog> read_gpu_catalog(const std::filesystem::path& devices_dir);

/// Every model that `name` may mean, most likely first. Case, blanks, hyphens, word order and words like "NVIDIA",
/// "GeForce" and "Instinct" do not matter: "h100", "NVIDIA H100 80GB HBM3", "rtx4090". Empty for an unknown name.
[[nodiscard]] std::vector<const GpuModel*> find_gpu_models(const GpuCatalog& catalog, std::string_view name);

/// How to query the GPUs of this machine.
struct GpuProbeOptions {
  /// kgen-gpu (Installation::gpu_probe).
  std::filesystem::path program;
  /// The program's whole environment; LD_LIBRARY_PATH and variables that hide devices count.
  std::map<std::string, std::string> environment;
  /// Measurements and the results of trials are kept in devices/ below this directory. Empty: they are not kept.
  std::filesystem::path cache_dir;
  /// The file system with sys/ and dev/, to say why there is no GPU. Another one than "/" is for tests.
  std::filesystem::path root = "/";
};

/// The GPUs of a machine.
struct GpuInventory {
  /// In the drivers' order, integrated ones last: the first is the one to use unasked.
  std::vector<GpuFacts> gpus;
  /// Why there is none: "there is no GPU driver (libcuda.so.1 or libamdhip64.so) on this machine".
  std::string reason;
  /// By the vendor of each card of which no driver shows a GPU: why, with what helps.
  std::map<std::string, std::string> absent{};
};

/// Asks the driver, in a process of its own, and adds what the catalog and earlier measurements know. A machine without
/// GPU or driver gives an empty list with a reason; an Error only when kgen-gpu cannot be run or prints something
/// unexpected.
[[nodiscard]] Result<GpuInventory> read_gpus(const GpuProbeOptions& options, const GpuCatalog& catalog,
                                             ProcessRunner& runner, std::stop_token stop);

/// Measures GpuFacts::measured_bytes_per_second once for each UUID and driver version, and keeps it. No other process
/// should use the device meanwhile (a second); a result far below the stated bandwidth is not kept. A cache that cannot
/// be written does not matter.
[[nodiscard]] Result<double> measure_gpu_bandwidth(const GpuFacts& gpu, const GpuProbeOptions& options,
                                                   ProcessRunner& runner, std::stop_token stop);

/// Tries how a judge and a sandboxed runner can share memory of the GPU: the first way that works, for
/// GpuFacts::memory_sharing. It is tried once for each UUID, driver version, kernel and PID namespace, and kept. Empty
/// where it cannot be tried now, because the device or its memory is not available. MissingDevice, with the reasons and
/// what helps, where no way works.
[[nodiscard]] Result<std::string> find_memory_sharing(const GpuFacts& gpu, const GpuProbeOptions& options,
                                                      ProcessRunner& runner, std::stop_token stop);

/// Finds a requested GPU by index ("1"), vendor and index among its GPUs ("amd:0"), UUID (or its beginning, with
/// "GPU-"), or name; empty: the first.
/// MissingDevice, with a list of the GPUs, when there is no such GPU.
[[nodiscard]] Result<GpuFacts> choose_gpu(const GpuInventory& reading, const GpuCatalog& catalog,
                                          std::string_view asked);

/// The GPUs that run kernels for GPUs of a vendor; all for an empty one. If there are others only, the reason names
/// one.
[[nodiscard]] GpuInventory gpus_for(const GpuInventory& reading, std::string_view vendor);

/// The first GPU and those of the same model, so that measurements on them can be compared. These are used unless a
/// device is asked for.
[[nodiscard]] std::vector<GpuFacts> gpus_like_first(const GpuInventory& reading);

}  // namespace v0
}  // namespace kernelgen
