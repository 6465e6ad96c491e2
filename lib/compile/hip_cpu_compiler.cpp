#include <algorithm>
#include <filesystem>
#include <mutex>
#include <utility>

#include <kernelgen/compile/kernel_compiler.hpp>

#include "compile/clang_search.hpp"
#include "compile/content_files.hpp"
#include "compile/diagnostics.hpp"
#include "compile/hip_source.hpp"
#include "compile/sandboxed_compiler.hpp"
#include "compile/toolchain.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_max_header_bytes = 4u << 20;

/// Lanes that exchange values wait at one place of the code, which is known by the addresses to which their functions
/// return. So a call must not exist twice, and what comes first in the source has to come first in the code.
constexpr const char* k_place_flags[] = {"-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"};
/// clang++ does not know these; attributes in the headers tell it the same.
constexpr const char* k_place_flags_of_gcc[] = {"-fno-thread-jumps", "-fno-reorder-blocks", "-fno-crossjumping",
                                                "-fno-tree-tail-merge"};

/// What a message is about when something is not executed on the CPU: the compilers put their own words around it.
constexpr std::string_view k_not_executed = " is not executed on the CPU";
/// Functions of libgcc that convert _Float16 where the processor does not.
constexpr const char* k_half_functions[] = {"__extendhfsf2", "__truncsfhf2", "__truncdfhf2"};

/// "static_assert failed due to requirement '...' "text"" without the compiler's own words.
std::string asserted_text(const std::string& message) {
  const auto end = message.find(k_not_executed);
  if (end == message.npos) return message;
  const auto begin = std::min(message.find("__builtin_amdgcn_"), message.find("inline assembly"));
  if (begin > end) return message;
  const auto text = message.substr(begin);
  return text.substr(0, text.find('"'));
}

/// clang++ or g++, for sources that are rewritten first.
class HipCpuToolset final : public Toolset {
 public:
  HipCpuToolset(HipCpuCompilerOptions options, BuiltinNames builtins, ProcessRunner& runner)
      : options_(std::move(options)),
        builtins_(std::move(builtins)),
        runner_(runner),
        environment_(compiler_environment(environment_of(options_))),
        search_(compiler_environment(environment_of(options_), {"ROCM_PATH"}), runner) {}

  [[nodiscard]] std::string name() const override {
    const auto found = locate();
    return found ? *found : named();
  }
  [[nodiscard]] Target target() const override { return Target::Hip; }
  [[nodiscard]] const std::map<std::string, std::string>& environment() const override { return environment_; }
  [[nodiscard]] std::string source_text(const Candidate& candidate) const override {
    return rewrite_hip_for_cpu(candidate.source, builtins_);
  }
  [[nodiscard]] std::vector<std::string> flags(const CompileRequest& request) const override {
    auto flags = options_.flags;
    flags.insert(flags.end(), std::begin(k_place_flags), std::end(k_place_flags));
    const auto driver = locate();
    if (!driver || !is_clang(*driver))
      flags.insert(flags.end(), std::begin(k_place_flags_of_gcc), std::end(k_place_flags_of_gcc));
    flags.insert(flags.end(), {"-fvisibility=hidden", "-Wno-attributes", "-x", "c++"});
    flags.insert(flags.end(), request.extra_flags.begin(), request.extra_flags.end());
    return flags;
  }
  /// The compiler that is named, else a clang++ that takes all of HIP, else any C++ compiler.
  [[nodiscard]] Result<std::string> locate() const override { return locate({}); }
  [[nodiscard]] std::vector<std::string> command_line(const std::string& driver, const std::vector<std::string>& flags,
                                                      const std::string& source,
                                                      const std::string& output) const override {
    std::vector<std::string> command{driver};
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"-shared", "-fPIC", "-fdiagnostics-color=never",
                                   is_clang(driver) ? "-ferror-limit=50" : "-fmax-errors=50", "-isystem",
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
    KERNELGEN_TRY(const auto driver, locate(stop));
    KERNELGEN_TRY(const auto facts, toolchain(driver).facts(flags, std::move(stop)));
    auto values = facts.key_values("compiler.");
    values["flags.resolved"] = facts.resolved_flags;
    KERNELGEN_TRY(values["hip.headers"], digest_of_folder(options_.headers_dir));
    return values;
  }
  void read_log(CompileReport& report) const override {
    report.diagnostics = parse_diagnostics(report.log);
    for (auto& one : report.diagnostics) one.message = asserted_text(one.message);
  }
  [[nodiscard]] std::optional<Error> missing_part(const CompileReport& report) const override {
    const auto missing = [&](const std::string& what) {
      return Error{ErrorCode::MissingTool, report.command.front() + " " + what, {}};
    };
    for (const auto& one : report.diagnostics) {
      for (const std::string library : {"-lstdc++", "-lm", "-lc"})
        if (one.message.starts_with("cannot find " + library) ||
            one.message.starts_with("unable to find library " + library))
          return missing(one.message + "; install that library of the compiler");
      for (const char* function : k_half_functions)
        if (contains(one.message, function))
          return missing("finds no " + std::string(function) + ", which converts _Float16; install libgcc 12 or newer");
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<Error> unsuited(const Candidate& candidate, const CompileReport& report) const override {
    // Another compiler would refuse this, too.
    for (const auto& one : report.diagnostics)
      if (contains(one.message, k_not_executed)) return std::nullopt;
    const auto& driver = report.command.front();
    const auto takes_all = search_.takes_vectors(driver, {});
    if (!takes_all || *takes_all) return std::nullopt;
    const auto name = find_clang_extension(candidate.source);
    if (!name) return std::nullopt;
    return Error{ErrorCode::MissingTool,
                 "this hip kernel uses " + *name + ", which clang has and " + driver +
                     " does not: install clang 15 or newer (Debian and Ubuntu: apt install clang-15), or ROCm",
                 {}};
  }

 private:
  [[nodiscard]] static std::map<std::string, std::string> environment_of(const HipCpuCompilerOptions& options) {
    return options.environment ? *options.environment : current_environment();
  }
  [[nodiscard]] const std::string& named() const {
    return options_.compiler.empty() ? options_.other_compiler : options_.compiler;
  }
  [[nodiscard]] Result<std::string> locate(const std::stop_token& stop) const {
    if (options_.compiler.empty()) {
      KERNELGEN_TRY(const auto clang, search_.find(stop));
      if (clang) return *clang;
    }
    return toolchain(named()).locate();
  }
  /// True if the driver, links followed, has clang's name.
  [[nodiscard]] static bool is_clang(const std::string& driver) {
    std::error_code error;
    return contains(fs::canonical(driver, error).filename().string(), "clang");
  }
  [[nodiscard]] Toolchain& toolchain(const std::string& driver) const {
    const std::lock_guard lock(mutex_);
    return toolchains_.try_emplace(driver, driver, environment_, runner_).first->second;
  }

  HipCpuCompilerOptions options_;
  BuiltinNames builtins_;
  ProcessRunner& runner_;
  std::map<std::string, std::string> environment_;
  mutable ClangSearch search_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Toolchain> toolchains_;
};

/// The built-in functions of AMD's compilers that the headers have.
Result<BuiltinNames> read_builtins(const fs::path& headers) {
  BuiltinNames names;
  std::error_code error;
  for (fs::recursive_directory_iterator at(headers, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_regular_file(error)) continue;
    KERNELGEN_TRY(const auto text, read_file(at->path(), k_max_header_bytes));
    names.merge(find_amdgcn_builtins(text));
  }
  if (error) return Error{ErrorCode::NotFound, "cannot read " + headers.string() + ": " + error.message(), {}};
  return names;
}

}  // namespace

Result<std::unique_ptr<KernelCompiler>> make_hip_cpu_compiler(HipCpuCompilerOptions options, ProcessRunner& runner) {
  if (options.compiler.empty() && options.other_compiler.empty())
    return Error{ErrorCode::InvalidArgument, "no C++ compiler named", {}};
  const auto header = fs::path(options.headers_dir) / "hip" / "hip_runtime.h";
  std::error_code error;
  if (!fs::is_regular_file(header, error))
    return Error{ErrorCode::NotFound, "cannot compile HIP for the CPU: no header at " + header.string(), {}};
  KERNELGEN_TRY(auto builtins, read_builtins(options.headers_dir));
  BuildPlaces places{options.abi_dir, options.output_dir, options.sandbox, options.toolchain_paths};
  return make_sandboxed_compiler(std::make_unique<HipCpuToolset>(std::move(options), std::move(builtins), runner),
                                 std::move(places), runner);
}

std::string hip_wave_flag(int lanes) { return "-DKGEN_HIP_WAVE=" + std::to_string(lanes); }

}  // namespace v0
}  // namespace kernelgen
