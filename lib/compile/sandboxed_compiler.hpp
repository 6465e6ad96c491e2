#pragma once

/// \file
/// The parts that all compilers of native candidates share: a private folder, the sandbox, the deadline and reading the
/// log.
///
///     request -> refused without compiling? -> command line -> sandbox -> log -> Compiled or CompileFailed
///                                               (Toolset)                (Toolset)

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/compile/kernel_compiler.hpp>

namespace kernelgen {
inline namespace v0 {

/// The parts that differ from compiler to compiler. Thread-safe.
class Toolset {
 public:
  virtual ~Toolset() = default;

  /// The compiler's name in messages: "g++", "/usr/local/cuda/bin/nvcc".
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual Target target() const = 0;
  /// The compiler's environment; TMPDIR is added to it.
  [[nodiscard]] virtual const std::map<std::string, std::string>& environment() const = 0;
  /// The text that the compiler gets. Each line is where it is in the candidate's source.
  [[nodiscard]] virtual std::string source_text(const Candidate& candidate) const { return candidate.source; }
  /// The compiler's own flags and those of the request.
  [[nodiscard]] virtual std::vector<std::string> flags(const CompileRequest& request) const = 0;
  /// The path of the compiler; MissingTool says what to install.
  [[nodiscard]] virtual Result<std::string> locate() const = 0;
  /// The command that compiles `source` to `output`, both in the working directory; its first entry is `driver`, an
  /// absolute path.
  [[nodiscard]] virtual std::vector<std::string> command_line(const std::string& driver,
                                                              const std::vector<std::string>& flags,
                                                              const std::string& source,
                                                              const std::string& output) const = 0;
  /// Folders that the compiler must read, besides the driver's own, the system's, and those in flags and environment.
  [[nodiscard]] virtual Result<std::vector<std::string>> toolchain_paths(const std::string& driver,
                                                                         std::stop_token stop) = 0;
  /// Everything about compiler, flags and environment that can change the output.
  [[nodiscard]] virtual Result<std::map<std::string, std::string>> key_values(const std::vector<std::string>& flags,
                                                                              std::stop_token stop) = 0;
  /// Fills in diagnostics and resources from the log.
  virtual void read_log(CompileReport& report) const = 0;
  /// The error for a part of the toolchain that is not installed, which is no fault of the candidate.
  [[nodiscard]] virtual std::optional<Error> missing_part(const CompileReport& report) const = 0;
  /// The error for a source that the compiler refused because it is written for another compiler; unset where the
  /// source itself is wrong.
  [[nodiscard]] virtual std::optional<Error> unsuited(const Candidate&, const CompileReport&) const {
    return std::nullopt;
  }
  /// What to do if the compiler refuses a source without errors with this message.
  [[nodiscard]] virtual std::string remedy(std::string_view said) const;
};

/// `from` reduced to the variables that compilers need: PATH, HOME, search paths, and those named in `more`.
[[nodiscard]] std::map<std::string, std::string> compiler_environment(const std::map<std::string, std::string>& from,
                                                                      const std::vector<std::string>& more = {});
/// Key values "environment.NAME" for the variables that change what a compiler finds.
[[nodiscard]] std::map<std::string, std::string> environment_key_values(
    const std::map<std::string, std::string>& environment);

/// Directories and files that a compiler works with.
struct BuildPlaces {
  /// The directory that holds kernelgen/abi.h.
  std::string abi_dir;
  /// builds/ and objects/ lie below it.
  std::string output_dir;
  /// kgen-sandbox.
  std::string sandbox;
  /// More files and folders that the user names.
  std::vector<std::string> toolchain_paths;
};

/// Makes a compiler from a toolset. `runner` must outlive it. Fails if a place does not exist.
[[nodiscard]] Result<std::unique_ptr<KernelCompiler>> make_sandboxed_compiler(std::unique_ptr<Toolset> toolset,
                                                                              BuildPlaces places,
                                                                              ProcessRunner& runner);

}  // namespace v0
}  // namespace kernelgen
