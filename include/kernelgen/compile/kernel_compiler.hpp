#pragma once

/// \file
/// KernelCompiler: source in, artifact or the compiler's refusal out.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/outcome.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

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
  /// Whose sources it takes.
  Target target = Target::Cpp;
  std::vector<std::string> flags{"-O3", "-march=native", "-fopenmp", "-std=c++20"};
  /// The directory that holds kernelgen/abi.h.
  std::string abi_dir;
  /// Where builds happen (builds/, each in a private directory that goes away), and where artifacts are published by
  /// content (objects/). The directory of a CachingCompiler may be the same: artifacts then lie there once.
  std::string output_dir;
  /// kgen-sandbox (Installation::sandbox). The compiler runs in it: it sees the system's toolchain folders read-only,
  /// the candidate, and what is named here; not your files.
  std::string sandbox;
  /// More files and folders for it to read. Need not name: where the compiler itself lies (links followed, and PREFIX
  /// of PREFIX/bin), folders in `flags`, folders on CPATH, LIBRARY_PATH, LD_LIBRARY_PATH and their like.
  std::vector<std::string> toolchain_paths{};
  /// Reduced to what a compiler needs before it is used. Unset: that of this process.
  std::optional<std::map<std::string, std::string>> environment;
};

/// Compiles `cpp` candidates to shared objects with g++ or clang++. `runner` must outlive the compiler.
///
/// A C source compiles with extra_flags {"-x", "c"}. Sources that are empty, not text or not code are the outcome
/// Syntax; a compiler over its time is Timeout; everything else it refuses is Compile with one of the details
/// "undeclared_identifier", "redefinition", "no_member", "syntax", "type", "missing_header", "link:undefined_symbol",
/// "compiler_crashed", "other". A missing compiler is the Error MissingTool of key() and compile(), not of this call;
/// so is one that does not work in the sandbox. A missing sandbox is the Error MissingTool of this call.
[[nodiscard]] Result<std::unique_ptr<KernelCompiler>> make_cpp_compiler(CppCompilerOptions options,
                                                                        ProcessRunner& runner);

/// How CUDA candidates are compiled.
struct NvccCompilerOptions {
  /// nvcc; empty: that of CUDA_HOME or CUDA_PATH, of the PATH, of /usr/local/cuda.
  std::string nvcc{};
  /// -lineinfo costs nothing and lets a profiler name source lines.
  std::vector<std::string> flags{"-O3", "-std=c++17", "-lineinfo"};
  /// GpuFacts::architecture of the device that it will run on, and of nothing else. From sm_90 on the code may use what
  /// only this architecture has (wgmma): "sm_90" is compiled as sm_90a.
  std::string architecture{};
  /// GpuFacts::driver_version of that device; 0: not known.
  int driver_version = 0;
  /// -ccbin; empty: nvcc's own choice (NVCC_CCBIN, else gcc).
  std::string host_compiler{};
  /// As in CppCompilerOptions.
  std::string abi_dir{};
  std::string output_dir{};
  std::string sandbox{};
  /// Need not name the toolkit or the host compiler.
  std::vector<std::string> toolchain_paths{};
  std::optional<std::map<std::string, std::string>> environment{};
};

/// Compiles `cuda` candidates to shared objects with nvcc; the CUDA runtime is linked into them. `runner` must outlive
/// the compiler.
///
/// As make_cpp_compiler, with further details of Compile ("host_function": the host's function called on the device)
/// and Resource ("shared_memory", "registers"); CompileReport::kernels tells what each kernel needs. A missing or
/// unusable nvcc, or one whose kernels the driver would not start, is the Error MissingTool of key() and compile(); an
/// unknown architecture is InvalidArgument here.
[[nodiscard]] Result<std::unique_ptr<KernelCompiler>> make_nvcc_compiler(NvccCompilerOptions options,
                                                                         ProcessRunner& runner);

/// How often each thing happened.
struct CacheCounters {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t failures = 0;  ///< a cache that could not be read or written; the build went on
  std::uint64_t evicted = 0;   ///< files that made room
};

/// Where a CachingCompiler keeps what, and for how long.
struct CompileCacheOptions {
  /// Made when missing; may be shared by several processes.
  std::string directory;
  /// Above this size, what was not used for longest is removed. Unset: never.
  std::optional<std::uint64_t> max_bytes = 5'000'000'000;
  /// What was used within this time stays, even above max_bytes. Longer than an evaluation, which opens its artifact
  /// several times.
  std::chrono::seconds keep_idle{3600};
};

/// Decorates a compiler with a content store: same key, same artifact, no compilation.
class CachingCompiler : public KernelCompiler {
 public:
  [[nodiscard]] virtual CacheCounters counters() const = 0;
};

/// Successful and refused compilations are both remembered; timeouts, crashed compilers and errors are not. Equal
/// requests at the same time compile once. What is read back is checked; a cache that fails is a miss, with a warning
/// in CompileReport::cache.
[[nodiscard]] Result<std::unique_ptr<CachingCompiler>> make_caching_compiler(std::unique_ptr<KernelCompiler> inner,
                                                                             CompileCacheOptions options);

}  // namespace v0
}  // namespace kernelgen
