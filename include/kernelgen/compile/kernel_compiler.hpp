#pragma once

/// \file
/// KernelCompiler: source in, artifact or the compiler's refusal out.

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/outcome.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace v0 {

/// One candidate to compile.
struct CompileRequest {
  Candidate candidate;
  /// Added to the compiler's own flags.
  std::vector<std::string> extra_flags;
  std::chrono::milliseconds timeout{120'000};
};

/// It compiled.
struct Compiled {
  Artifact artifact;
  CompileReport report;
};

/// It did not; the outcome says why in a class of its own ("compile:undeclared_identifier").
struct CompileFailed {
  Outcome outcome;
  CompileReport report;
};

using CompileOutcome = std::variant<Compiled, CompileFailed>;

/// Everything besides the source that can change the output: sorted `name value` lines.
struct CompileKey {
  std::string text;
  /// SHA-256 of the text, in hex. Empty when something that belongs into it could not be found out.
  std::string digest;
};

/// Compiles candidates of some targets. Implementations are thread-safe.
class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  [[nodiscard]] virtual bool supports(Target target) const = 0;
  /// The cache key of a request; explainable, so that a person can see why two builds differ.
  virtual Result<CompileKey> key(const CompileRequest& request, std::stop_token stop) = 0;
  virtual Result<CompileOutcome> compile(const CompileRequest& request, std::stop_token stop) = 0;
};

/// How C and C++ candidates are compiled.
struct CppCompilerOptions {
  /// The compiler; looked up on the PATH.
  std::string compiler = "c++";
  std::vector<std::string> flags{"-O3", "-march=native", "-fopenmp", "-std=c++20"};
  /// The directory that holds kernelgen/abi.h.
  std::string abi_dir;
  /// Where builds happen and artifacts are published.
  std::string output_dir;
};

/// Compiles `cpp` candidates to shared objects. `runner` must outlive the compiler.
[[nodiscard]] Result<std::unique_ptr<KernelCompiler>> make_cpp_compiler(CppCompilerOptions options,
                                                                        ProcessRunner& runner);

/// How often each thing happened.
struct CacheCounters {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t failures = 0;  ///< a cache that could not be read or written; the build went on
};

/// Decorates a compiler with a content store: same key, same artifact, no compilation.
class CachingCompiler : public KernelCompiler {
 public:
  [[nodiscard]] virtual CacheCounters counters() const = 0;
};

/// `directory` is made when missing. Successful and refused compilations are both remembered.
[[nodiscard]] Result<std::unique_ptr<CachingCompiler>> make_caching_compiler(std::unique_ptr<KernelCompiler> inner,
                                                                             std::string directory);

}  // namespace v0
}  // namespace kernelgen
