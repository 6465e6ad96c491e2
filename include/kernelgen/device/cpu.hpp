#pragma once

/// \file
/// Facts about this machine's processor, and the share of it that this process may use.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// One cache that the first usable core sees.
struct CpuCache {
  int level = 1;
  /// "Data", "Instruction" or "Unified".
  std::string type;
  std::uint64_t bytes = 0;
  /// Number of hardware threads that share it.
  int shared_by = 1;
  bool operator==(const CpuCache&) const = default;
};

/// Facts for records, prompts and thread counts. A plain value.
struct CpuFacts {
  /// "AMD EPYC 7B13"; "unknown" where the kernel does not report it.
  std::string model;
  /// Hardware threads that this process may keep busy: the affinity mask, and whole cores of the cgroup quota.
  int usable_cores = 1;
  /// Hardware threads in the affinity mask.
  int allowed_cores = 1;
  /// Physical cores that these hardware threads belong to; 0: unknown.
  int physical_cores = 0;
  /// Cores that the cgroup's quota allows, if it has one.
  std::optional<double> quota_cores;
  /// The highest clock of one core; 0: unknown.
  double max_gigahertz = 0;
  std::vector<CpuCache> caches;
  /// Main memory, or the cgroup's limit where that is lower.
  std::uint64_t memory_bytes = 0;
  /// Vector instruction sets that kernels are written for, as the kernel names them: "avx2", "fma", "avx512f", "asimd".
  std::vector<std::string> vector_flags;
  /// SHA-256 over the sorted instruction set flags: two machines with the same one run the same -march=native code.
  std::string flags_digest;

  /// "cpu: AMD EPYC 7B13, 2 cores".
  [[nodiscard]] std::string to_line() const;
};

/// Where read_cpu_facts() reads from.
struct CpuFactsOptions {
  /// The directory that holds proc/ and sys/. Another one than "/" is for tests.
  std::string root = "/";
};

/// Reads /proc and /sys. Missing parts get their defaults, because containers hide many of them; an Error only when
/// there is no proc/cpuinfo at all.
[[nodiscard]] Result<CpuFacts> read_cpu_facts(const CpuFactsOptions& options = {});

}  // namespace v0
}  // namespace kernelgen
