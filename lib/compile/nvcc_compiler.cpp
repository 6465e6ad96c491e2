#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/device/gpu.hpp>

#include "compile/content_files.hpp"
#include "compile/cuda_toolkit.hpp"
#include "compile/diagnostics.hpp"
#include "compile/kernel_resources.hpp"
#include "compile/sandboxed_compiler.hpp"
#include "compile/toolchain.hpp"
#include "exec/sandbox.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// From here on a device has instructions (wgmma, TMA multicast, tcgen05) that only its own architecture has.
constexpr int k_first_with_own_instructions = 90;

/// "90a" of "sm_90"; nothing when it is no architecture of NVIDIA's.
std::optional<std::string> architecture_number(std::string_view architecture) {
  constexpr std::string_view k_prefix = "sm_";
  if (architecture.substr(0, k_prefix.size()) != k_prefix) return std::nullopt;
  architecture.remove_prefix(k_prefix.size());
  const auto digits = std::min(architecture.find_first_not_of("0123456789"), architecture.size());
  const auto letters = architecture.substr(digits);
  if (digits < 2 || digits > 3 || (!letters.empty() && letters != "a" && letters != "f")) return std::nullopt;
  std::string number(architecture);
  if (letters.empty() && std::stoi(number) >= k_first_with_own_instructions) number += 'a';
  return number;
}

/// Environment variables that change what nvcc does.
const std::vector<std::string>& nvcc_variables() {
  static const std::vector<std::string> k_names{"CUDA_HOME", "CUDA_PATH", "NVCC_APPEND_FLAGS", "NVCC_CCBIN",
                                                "NVCC_PREPEND_FLAGS"};
  return k_names;
}

class NvccToolset final : public Toolset {
 public:
  NvccToolset(NvccCompilerOptions options, std::string number, ProcessRunner& runner)
      : options_(std::move(options)),
        number_(std::move(number)),
        runner_(runner),
        toolkit_(options_.nvcc,
                 compiler_environment(options_.environment ? *options_.environment : current_environment(),
                                      nvcc_variables()),
                 runner) {}

  [[nodiscard]] std::string name() const override { return options_.nvcc.empty() ? "nvcc" : options_.nvcc; }
  [[nodiscard]] Target target() const override { return takes_hip() ? Target::Hip : Target::Cuda; }
  [[nodiscard]] const std::map<std::string, std::string>& environment() const override {
    return toolkit_.environment();
  }
  [[nodiscard]] std::vector<std::string> flags(const CompileRequest& request) const override {
    auto flags = options_.flags;
    flags.insert(flags.end(), {"-gencode", fmt::format("arch=compute_{0},code=sm_{0}", number_)});
    flags.insert(flags.end(), request.extra_flags.begin(), request.extra_flags.end());
    return flags;
  }
  [[nodiscard]] Result<std::string> locate() const override { return toolkit_.locate(); }
  [[nodiscard]] std::vector<std::string> command_line(const std::string& driver, const std::vector<std::string>& flags,
                                                      const std::string& source,
                                                      const std::string& output) const override;
  [[nodiscard]] Result<std::vector<std::string>> toolchain_paths(const std::string& driver,
                                                                 std::stop_token stop) override;
  [[nodiscard]] Result<std::map<std::string, std::string>> key_values(const std::vector<std::string>& flags,
                                                                      std::stop_token stop) override;
  void read_log(CompileReport& report) const override {
    report.diagnostics = parse_diagnostics(report.log);
    report.kernels = parse_ptxas_resources(report.log);
  }
  [[nodiscard]] std::optional<Error> missing_part(const CompileReport& report) const override;
  [[nodiscard]] std::string remedy(std::string_view said) const override;

 private:
  [[nodiscard]] bool takes_hip() const { return !options_.hip_headers_dir.empty(); }
  [[nodiscard]] Result<CudaToolkitFacts> facts(std::stop_token stop);
  [[nodiscard]] Toolchain& host(const std::string& compiler);

  NvccCompilerOptions options_;
  std::string number_;
  ProcessRunner& runner_;
  CudaToolkit toolkit_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Toolchain>> hosts_;
};

std::vector<std::string> NvccToolset::command_line(const std::string& driver, const std::vector<std::string>& flags,
                                                   const std::string& source, const std::string& output) const {
  std::vector<std::string> command{driver};
  if (!options_.host_compiler.empty()) command.insert(command.end(), {"-ccbin", options_.host_compiler});
  command.insert(command.end(), flags.begin(), flags.end());
  if (takes_hip())
    command.insert(command.end(), {"-x", "cu", "--expt-relaxed-constexpr", "--extended-lambda", "-isystem",
                                   std::filesystem::absolute(options_.hip_headers_dir).string()});
  command.insert(command.end(), {"-shared", "-Xcompiler", "-fPIC,-fdiagnostics-color=never,-fmax-errors=50",
                                 // What each kernel needs, for the report.
                                 "-Xptxas", "-v",
                                 // One source needs no device link, which saves three processes.
                                 "-nodlink",
                                 // This reports undefined symbols here instead of when the candidate is loaded.
                                 "-Xlinker", "-z,defs", "-I", std::filesystem::absolute(options_.abi_dir).string(),
                                 source, "-o", output});
  return command;
}

/// Checks that the driver supports the toolkit: a driver supports all toolkits of its major version, and older ones.
/// Kernels of a newer toolkit fail at their first launch, which would look like the candidate's fault.
Result<CudaToolkitFacts> NvccToolset::facts(std::stop_token stop) {
  KERNELGEN_TRY(auto facts, toolkit_.facts(std::move(stop)));
  const int driver = options_.driver_version / 1000;
  if (driver == 0 || facts.release.first <= driver) return facts;
  return Error{
      ErrorCode::MissingTool,
      fmt::format("nvcc is of CUDA {}.{} and newer than the driver, which is for CUDA {}: its kernels would not "
                  "start; install a driver for CUDA {}, or set CUDA_HOME to a CUDA {} toolkit",
                  facts.release.first, facts.release.second, format_driver_version(options_.driver_version),
                  facts.release.first, driver),
      {}};
}

/// The folders of the toolkit; nvcc on the PATH is often a link or a script that lies elsewhere.
Result<std::vector<std::string>> NvccToolset::toolchain_paths(const std::string&, std::stop_token stop) {
  KERNELGEN_TRY(const auto facts, facts(std::move(stop)));
  std::vector<std::string> paths;
  if (!facts.root.empty()) paths.push_back(facts.root);
  const auto& host = options_.host_compiler.empty() ? facts.host_compiler : options_.host_compiler;
  const auto found = find_program(host, environment());
  if (!found) return paths;
  const auto home = environment().find("HOME");
  const auto folders = toolchain_folders(*found, home == environment().end() ? "" : home->second);
  paths.insert(paths.end(), folders.begin(), folders.end());
  return paths;
}

Toolchain& NvccToolset::host(const std::string& compiler) {
  const std::lock_guard lock(mutex_);
  auto& toolchain = hosts_[compiler];
  if (toolchain == nullptr) toolchain = std::make_unique<Toolchain>(compiler, environment(), runner_);
  return *toolchain;
}

Result<std::map<std::string, std::string>> NvccToolset::key_values(const std::vector<std::string>&,
                                                                   std::stop_token stop) {
  KERNELGEN_TRY(const auto facts, facts(stop));
  const auto& compiler = options_.host_compiler.empty() ? facts.host_compiler : options_.host_compiler;
  if (compiler.empty())
    return Error{ErrorCode::Unavailable, name() + " does not say which host compiler it starts", {}};
  KERNELGEN_TRY(const auto host_facts, host(compiler).facts({"-O3", "-fPIC"}, std::move(stop)));
  auto values = facts.digests;
  values["cuda.version"] = facts.version;
  values.merge(host_facts.key_values("host."));
  values["host.compiler"] = compiler;
  if (takes_hip()) {
    KERNELGEN_TRY(values["hip.headers"], digest_of_folder(options_.hip_headers_dir));
  }
  return values;
}

std::optional<Error> NvccToolset::missing_part(const CompileReport& report) const {
  for (const auto& one : report.diagnostics)
    for (const char* library : {"cannot find -lcudart", "cannot find -lcudadevrt", "cannot find -lstdc++"})
      if (one.message.find(library) == 0)
        return Error{ErrorCode::MissingTool, name() + " " + one.message + "; install all of the CUDA toolkit", {}};
  return std::nullopt;
}

std::string NvccToolset::remedy(std::string_view said) const {
  if (said.find("Unsupported gpu architecture") != said.npos || said.find("is not defined for option") != said.npos)
    return "this CUDA toolkit does not know the device; set CUDA_HOME to another one";
  if (said.find("unsupported GNU version") != said.npos || said.find("unsupported clang version") != said.npos)
    return "set NVCC_CCBIN to an older g++, or CUDA_HOME to a newer CUDA toolkit";
  if (said.find("Cannot find compiler") != said.npos) return "install g++, or set NVCC_CCBIN to a host compiler";
  return Toolset::remedy(said);
}

}  // namespace

Result<std::unique_ptr<KernelCompiler>> make_nvcc_compiler(NvccCompilerOptions options, ProcessRunner& runner) {
  auto number = architecture_number(options.architecture);
  if (!number)
    return Error{ErrorCode::InvalidArgument,
                 "'" + options.architecture + "' is no architecture that nvcc compiles for; they look like sm_90",
                 {}};
  BuildPlaces places{options.abi_dir, options.output_dir, options.sandbox, options.toolchain_paths};
  return make_sandboxed_compiler(std::make_unique<NvccToolset>(std::move(options), *std::move(number), runner),
                                 std::move(places), runner);
}

}  // namespace v0
}  // namespace kernelgen
