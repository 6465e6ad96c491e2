#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/result.hpp>
#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace v0 {

/// The identity of a compiler, and how it resolves flags on this machine.
struct ToolchainFacts {
  /// First line of --version.
  std::string version;
  /// SHA-256 of the driver that a wrapper or symbolic link ends at.
  std::string driver_digest;
  /// SHA-256 of the program that compiles (cc1plus, clang), as the driver names it; empty when it names none.
  std::string backend_digest;
  /// SHA-256 of the assembler and of the linker; empty when the driver names none.
  std::string assembler_digest;
  std::string linker_digest;
  /// SHA-256 over what is linked into every candidate or changes how it is linked: libc, libm, libgomp, libstdc++,
  /// libgcc, start files; empty when the driver does not say where it looks.
  std::string libraries_digest;
  /// SHA-256 over the headers that carry the versions of libc, the C++ library, libgomp and the kernel's headers. A
  /// package that changes another of its headers comes with a new library or version. Empty when the driver does not
  /// say.
  std::string headers_digest;
  /// The flags as resolved: -march=native spelled out. Falls back to the processor's flags digest.
  std::string resolved_flags;

  /// The identity of the compiler as values of a key: prefix + "driver", "backend", ...
  [[nodiscard]] std::map<std::string, std::string> key_values(const std::string& prefix) const;
};

/// Queries a compiler for its identity, and caches the answer while its files stay the same. Thread-safe.
class Toolchain {
 public:
  /// `runner` must outlive this object.
  Toolchain(std::string compiler, std::map<std::string, std::string> environment, ProcessRunner& runner);

  [[nodiscard]] const std::string& compiler() const { return compiler_; }
  [[nodiscard]] const std::map<std::string, std::string>& environment() const { return environment_; }
  /// The path of the compiler; MissingTool says what to install.
  [[nodiscard]] Result<std::string> locate() const;
  [[nodiscard]] Result<ToolchainFacts> facts(const std::vector<std::string>& flags, std::stop_token stop);

 private:
  struct Remembered {
    std::string stamp;
    ToolchainFacts facts;
  };
  [[nodiscard]] Result<ToolchainFacts> ask(const std::string& driver, const std::vector<std::string>& flags,
                                           std::vector<std::string>& files, std::stop_token stop) const;
  [[nodiscard]] Result<ProcessOutcome> run(std::vector<std::string> command, std::stop_token stop,
                                           std::optional<std::string> input = std::nullopt) const;
  [[nodiscard]] Result<std::string> digest_of_part(const std::string& driver, const std::string& question,
                                                   std::vector<std::string>& files, std::stop_token stop) const;
  [[nodiscard]] Result<std::string> digest_of_libraries(const std::string& driver, std::vector<std::string>& files,
                                                        std::stop_token stop) const;
  [[nodiscard]] Result<std::string> digest_of_headers(const std::string& driver, const std::vector<std::string>& flags,
                                                      std::vector<std::string>& files, std::stop_token stop) const;

  std::string compiler_;
  std::map<std::string, std::string> environment_;
  ProcessRunner& runner_;
  std::mutex mutex_;
  std::map<std::string, Remembered> remembered_;
  std::map<std::string, std::vector<std::string>> files_;
};

/// The version of the compiler in the text of a key, as ToolchainFacts::version; empty where no compiler is named.
[[nodiscard]] std::string version_in_key(std::string_view key_text);

/// Whether there is a program that may be started.
[[nodiscard]] bool is_program(const std::string& path);

/// A text that changes whenever one of the files is replaced or written; empty if one is missing.
[[nodiscard]] std::string file_stamp(const std::vector<std::string>& files);

/// The folders of the line "libraries: =a:b" of `-print-search-dirs`.
[[nodiscard]] std::vector<std::string> parse_library_folders(std::string_view search_dirs);

/// The files of a make rule as -M prints it, without its target.
[[nodiscard]] std::vector<std::string> parse_dependencies(std::string_view rule);

/// The program and arguments of the compiler proper, from the output of `-###`; empty if there are none. The output
/// file is left out, because its name is random.
[[nodiscard]] std::vector<std::string> parse_resolved_command(std::string_view dry_run);

}  // namespace v0
}  // namespace kernelgen
