#include <kernelgen/core/installation.hpp>

#include <dlfcn.h>

#include <array>
#include <utility>
#include <vector>

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Candidates for the file with this code: the shared library, or the program when the library is static.
std::vector<fs::path> own_files() {
  std::vector<fs::path> files;
  std::error_code error;
  Dl_info info{};
  // The name can be wrong for a program found through the PATH, or a relative library path after a chdir.
  if (dladdr(reinterpret_cast<const void*>(&own_files), &info) != 0 && info.dli_fname != nullptr) {
    auto file = fs::canonical(info.dli_fname, error);
    if (!error) files.push_back(std::move(file));
  }
  auto program = fs::read_symlink("/proc/self/exe", error);
  if (!error) files.push_back(std::move(program));
  return files;
}

}  // namespace

Result<Installation> installation_at(const fs::path& prefix) {
  const fs::path libexec = prefix / "libexec" / "kernelgen";
  const fs::path share = prefix / "share" / "kernelgen";
  Installation found{prefix / "bin" / "kgen",  libexec / "kgen-runner", libexec / "libkgen_runner_support.so",
                     libexec / "kgen-sandbox", libexec / "kgen-gpu",    share / "python",
                     share / "prompts",        share / "abi",           share / "devices",
                     share / "selftest",       share / "hip_cpu",       share / "hip_cuda",
                     share / "report"};
  const std::array<fs::path, 14> parts{found.worker,
                                       found.native_runner,
                                       found.runner_support,
                                       found.sandbox,
                                       found.gpu_probe,
                                       found.python_dir / "kernelgen_judge",
                                       found.python_dir / "kernelgen_runner",
                                       found.prompts_dir / "seed.mustache",
                                       found.abi_dir / "kernelgen" / "abi.h",
                                       found.devices_dir / "gpus.json",
                                       found.selftest_dir / "attacks",
                                       found.hip_cpu_dir / "hip" / "hip_runtime.h",
                                       found.hip_cuda_dir / "hip" / "hip_runtime.h",
                                       found.report_dir / "page.html"};
  for (const auto& part : parts) {
    if (!is_there(part)) {
      return Error{ErrorCode::MissingTool, "the kernelgen installation at " + prefix.string() + " lacks " +
                                               part.lexically_relative(prefix).string() +
                                               "; build or install all of kernelgen"};
    }
  }
  return found;
}

Result<Installation> find_installation() {
  // The prefix lies one or two levels above lib/libkernelgen.so, lib/x86_64-linux-gnu/libkernelgen.so and bin/kgen.
  constexpr int k_levels = 3;
  const auto files = own_files();
  for (const auto& file : files) {
    fs::path prefix = file.parent_path();
    for (int level = 0; level < k_levels; ++level, prefix = prefix.parent_path())
      if (is_there(prefix / "share" / "kernelgen")) return installation_at(prefix);
  }
  return Error{ErrorCode::MissingTool, "found no share/kernelgen above " +
                                           (files.empty() ? std::string("this program") : files.front().string()) +
                                           "; pass installation_at(prefix) instead"};
}

}  // namespace v0
}  // namespace kernelgen
