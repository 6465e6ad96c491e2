#include <algorithm>
#include <filesystem>
#include <utility>

#include <kernelgen/compile/kernel_compiler.hpp>

#include "compile/diagnostics.hpp"
#include "compile/sandboxed_compiler.hpp"
#include "compile/toolchain.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// g++ or clang++; the same driver compiles C with `-x c`.
class CppToolset final : public Toolset {
 public:
  CppToolset(CppCompilerOptions options, ProcessRunner& runner)
      : options_(std::move(options)),
        toolchain_(options_.compiler,
                   compiler_environment(options_.environment ? *options_.environment : current_environment()), runner) {
  }

  [[nodiscard]] std::string name() const override { return options_.compiler; }
  [[nodiscard]] Target target() const override { return options_.target; }
  [[nodiscard]] const std::map<std::string, std::string>& environment() const override {
    return toolchain_.environment();
  }

  [[nodiscard]] std::vector<std::string> flags(const CompileRequest& request) const override {
    const bool is_c = request.candidate.language == Language::C;
    auto flags = is_c ? options_.c_flags : options_.flags;
    // A C++ driver takes ".c" files for C++ unless it is told otherwise.
    if (is_c) flags.insert(flags.end(), {"-x", "c"});
    flags.insert(flags.end(), request.extra_flags.begin(), request.extra_flags.end());
    return flags;
  }

  [[nodiscard]] Result<std::string> locate() const override { return toolchain_.locate(); }

  [[nodiscard]] std::vector<std::string> command_line(const std::string& driver, const std::vector<std::string>& flags,
                                                      const std::string& source,
                                                      const std::string& output) const override {
    std::vector<std::string> command{driver};
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"-shared", "-fPIC", "-fdiagnostics-color=never", "-fmax-errors=50", "-I",
                                   std::filesystem::absolute(options_.abi_dir).string(), source, "-o", output,
                                   // This reports undefined symbols here instead of when the candidate is loaded.
                                   "-Wl,-z,defs"});
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
    return values;
  }

  void read_log(CompileReport& report) const override { report.diagnostics = parse_diagnostics(report.log); }

  /// The error for missing parts such as libgomp, which -fopenmp needs.
  [[nodiscard]] std::optional<Error> missing_part(const CompileReport& report) const override {
    for (const auto& one : report.diagnostics)
      for (const char* library : {"-lgomp", "-lomp", "-lstdc++", "-lc++", "-lm", "-lc"})
        if (one.message == std::string("cannot find ") + library ||
            one.message.find(std::string("cannot find ") + library + ":") == 0)
          return Error{ErrorCode::MissingTool,
                       options_.compiler + " " + one.message + "; install that library of the compiler",
                       {}};
    return std::nullopt;
  }

 private:
  CppCompilerOptions options_;
  Toolchain toolchain_;
};

}  // namespace

Result<std::unique_ptr<KernelCompiler>> make_cpp_compiler(CppCompilerOptions options, ProcessRunner& runner) {
  if (options.compiler.empty()) return Error{ErrorCode::InvalidArgument, "no C++ compiler named", {}};
  BuildPlaces places{options.abi_dir, options.output_dir, options.sandbox, options.toolchain_paths};
  return make_sandboxed_compiler(std::make_unique<CppToolset>(std::move(options), runner), std::move(places), runner);
}

}  // namespace v0
}  // namespace kernelgen
