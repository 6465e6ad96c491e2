#pragma once

#include <filesystem>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Paths of the parts of an installed kernelgen. A plain value: change a field to move a part.
struct Installation {
  std::filesystem::path worker;          ///< the kgen executable; started as `kgen worker`
  std::filesystem::path native_runner;   ///< libexec/kernelgen/kgen-runner
  std::filesystem::path runner_support;  ///< libexec/kernelgen/libkgen_runner_support.so, loaded through ctypes
  std::filesystem::path sandbox;         ///< libexec/kernelgen/kgen-sandbox: compilers run in it
  std::filesystem::path gpu_probe;       ///< libexec/kernelgen/kgen-gpu: asks which GPUs there are
  std::filesystem::path python_dir;      ///< share/kernelgen/python: judge and Python runner
  std::filesystem::path prompts_dir;     ///< share/kernelgen/prompts: templates
  std::filesystem::path abi_dir;       ///< share/kernelgen/abi: the directory to put on the include path of candidates
  std::filesystem::path devices_dir;   ///< share/kernelgen/devices: data about GPUs
  std::filesystem::path selftest_dir;  ///< share/kernelgen/selftest: kernels for `kgen selftest`
  std::filesystem::path hip_cpu_dir;   ///< share/kernelgen/hip_cpu: headers with which a CPU executes `hip` kernels
  std::filesystem::path hip_cuda_dir;  ///< share/kernelgen/hip_cuda: headers with which nvcc compiles `hip` kernels
  std::filesystem::path report_dir;    ///< share/kernelgen/report: the parts of detailed_report.html
};

/// The layout below a prefix: bin/, libexec/kernelgen/, share/kernelgen/. Fails naming the first part that is missing.
[[nodiscard]] Result<Installation> installation_at(const std::filesystem::path& prefix);
/// Finds the installation relative to the library (for a static library, to the program). Works in the build tree too.
[[nodiscard]] Result<Installation> find_installation();

}  // namespace v0
}  // namespace kernelgen
