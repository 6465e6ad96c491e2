#include <filesystem>
#include <utility>

#include <kernelgen/compile/kernel_compiler.hpp>

#include "compile/content_files.hpp"
#include "compile/diagnostics.hpp"
#include "compile/hip_source.hpp"
#include "compile/sandboxed_compiler.hpp"
#include "compile/toolchain.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// Lanes that exchange values wait at one place of the code, which is known by the addresses to which their functions
/// return. So a call must not exist twice, and what comes first in the source has to come first in the code.
constexpr const char* k_place_flags[] = {"-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"};
/// clang++ does not know these; attributes in the headers tell it the same.
constexpr const char* k_place_flags_of_gcc[] = {"-fno-thread-jumps", "-fno-reorder-blocks", "-fno-crossjumping",
                                                "-fno-tree-tail-merge"};

/// g++ or clang++, for sources that are rewritten first.
class HipCpuToolset final : public Toolset {
 public:
  HipCpuToolset(HipCpuCompilerOptions options, ProcessRunner& runner)
      : options_(std::move(options)),
        toolchain_(options_.compiler,
                   compiler_environment(options_.environment ? *options_.environment : current_environment()), runner) {
  }

  [[nodiscard]] std::string name() const override { return options_.compiler; }
  [[nodiscard]] Target target() const override { return Target::Hip; }
  [[nodiscard]] const std::map<std::string, std::string>& environment() const override {
    return toolchain_.environment();
  }
  [[nodiscard]] std::string source_text(const Candidate& candidate) const override {
    return rewrite_hip_for_cpu(candidate.source);
  }
  [[nodiscard]] std::vector<std::string> flags(const CompileRequest& request) const override {
    auto flags = options_.flags;
    flags.insert(flags.end(), std::begin(k_place_flags), std::end(k_place_flags));
    if (!is_clang()) flags.insert(flags.end(), std::begin(k_place_flags_of_gcc), std::end(k_place_flags_of_gcc));
    flags.insert(flags.end(), {"-fvisibility=hidden", "-Wno-attributes", "-x", "c++"});
    flags.insert(flags.end(), request.extra_flags.begin(), request.extra_flags.end());
    return flags;
  }
  [[nodiscard]] Result<std::string> locate() const override { return toolchain_.locate(); }
  [[nodiscard]] std::vector<std::string> command_line(const std::string& driver, const std::vector<std::string>& flags,
                                                      const std::string& source,
                                                      const std::string& output) const override {
    std::vector<std::string> command{driver};
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"-shared", "-fPIC", "-fdiagnostics-color=never", "-fmax-errors=50", "-isystem",
                                   fs::absolute(options_.headers_dir).string(), "-I",
                                   fs::absolute(options_.abi_dir).string(), source, "-o", output, "-Wl,-z,defs"});
    return command;
  }
  /// Nothing: the compiler's own folder is known from its path.
  [[nodiscard]] Result<std::vector<std::string>> toolchain_paths(const std::string&, std::stop_token) override {
    return std::vector<std::string>();
  }
  [[nodiscard]] Result<std::map<std::string, std::string>> key_values(const std::vector<std::string>& flags,
                                                                      std::stop_token stop) override {
    KERNELGEN_TRY(const auto facts, toolchain_.facts(flags, std::move(stop)));
    auto values = facts.key_values("compiler.");
    values["flags.resolved"] = facts.resolved_flags;
    KERNELGEN_TRY(values["hip.headers"], digest_of_folder(options_.headers_dir));
    return values;
  }
  void read_log(CompileReport& report) const override { report.diagnostics = parse_diagnostics(report.log); }
  [[nodiscard]] std::optional<Error> missing_part(const CompileReport& report) const override {
    for (const auto& one : report.diagnostics)
      for (const char* library : {"cannot find -lstdc++", "cannot find -lm", "cannot find -lc"})
        if (one.message.starts_with(library))
          return Error{ErrorCode::MissingTool,
                       options_.compiler + " " + one.message + "; install that library of the compiler",
                       {}};
    return std::nullopt;
  }

 private:
  /// True if the driver, links followed, has clang's name.
  [[nodiscard]] bool is_clang() const {
    const auto driver = toolchain_.locate();
    std::error_code error;
    return driver && fs::canonical(*driver, error).filename().string().find("clang") != std::string::npos;
  }

  HipCpuCompilerOptions options_;
  Toolchain toolchain_;
};

}  // namespace

Result<std::unique_ptr<KernelCompiler>> make_hip_cpu_compiler(HipCpuCompilerOptions options, ProcessRunner& runner) {
  if (options.compiler.empty()) return Error{ErrorCode::InvalidArgument, "no C++ compiler named", {}};
  const auto header = fs::path(options.headers_dir) / "hip" / "hip_runtime.h";
  std::error_code error;
  if (!fs::is_regular_file(header, error))
    return Error{ErrorCode::NotFound, "cannot compile HIP for the CPU: no header at " + header.string(), {}};
  BuildPlaces places{options.abi_dir, options.output_dir, options.sandbox, options.toolchain_paths};
  return make_sandboxed_compiler(std::make_unique<HipCpuToolset>(std::move(options), runner), std::move(places),
                                 runner);
}

std::string hip_wave_flag(int lanes) { return "-DKGEN_HIP_WAVE=" + std::to_string(lanes); }

}  // namespace v0
}  // namespace kernelgen
