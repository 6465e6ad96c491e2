#pragma once

/// \file
/// KernelCompiler: compiles a candidate to an artifact, or reports why it does not compile.

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
  /// Time limit for the compilation.
  std::chrono::milliseconds timeout{300'000};
};

/// The answer for a candidate that compiled.
struct Compiled {
  Artifact artifact;
  CompileReport report;
};

/// The answer for a candidate that did not compile. The outcome has the class of the error
/// ("compile:undeclared_identifier").
struct CompileFailed {
  Outcome outcome;
  CompileReport report;
};

/// What a compilation gave.
using CompileOutcome = std::variant<Compiled, CompileFailed>;

/// Everything besides the source that can change the output: sorted `name value` lines.
struct CompileKey {
  std::string text;
  /// SHA-256 of the text, in hex. Empty if a part of the key is unknown.
  std::string digest;
};

/// Compiles candidates of some targets. Implementations are thread-safe.
class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  /// Whether it compiles candidates for this target.
  [[nodiscard]] virtual bool supports(Target target) const = 0;
  /// The cache key of a request, as text that shows a person why two builds differ.
  virtual Result<CompileKey> key(const CompileRequest& request, std::stop_token stop) = 0;
  /// Compiles, or finds what was compiled before. An Error says nothing about the candidate.
  virtual Result<CompileOutcome> compile(const CompileRequest& request, std::stop_token stop) = 0;
};

/// Options of the compiler for C and C++ candidates.
struct CppCompilerOptions {
  /// The compiler; looked up on the PATH.
  std::string compiler = "c++";
  /// The target of the candidates that it compiles.
  Target target = Target::Cpp;
  std::vector<std::string> flags{"-O3", "-march=native", "-fopenmp", "-std=c++20"};
  /// Flags for candidates in C, which the same compiler takes with `-x c`. GNU's dialect, as C++ has: M_PI and
  /// posix_memalign are declared.
  std::vector<std::string> c_flags{"-O3", "-march=native", "-fopenmp", "-std=gnu17"};
  /// The directory that holds kernelgen/abi.h.
  std::string abi_dir;
  /// The directory of builds (builds/, each in a private directory that is removed) and of artifacts, which are
  /// published by content (objects/). The directory of a CachingCompiler may be the same: artifacts then exist once.
  std::string output_dir;
  /// kgen-sandbox (Installation::sandbox). The compiler runs in it: it sees the system's toolchain folders read-only,
  /// the candidate, and what is named here; not your files.
  std::string sandbox;
  /// More files and folders that the compiler may read. It may read these without being named: its own folder (links
  /// followed, and PREFIX of PREFIX/bin), folders in `flags`, and those on CPATH, LIBRARY_PATH, LD_LIBRARY_PATH.
  std::vector<std::string> toolchain_paths{};
  /// The environment, reduced to what a compiler needs before it is used. Unset: that of this process.
  std::optional<std::map<std::string, std::string>> environment;
};

/// Compiles `cpp` candidates to shared objects with g++ or clang++. `runner` must outlive the compiler.
///
/// Candidate::language decides between C and C++. Sources that are empty, not text or not code are the outcome
/// Syntax; a compiler over its time is Timeout ("build"); everything else it refuses is Compile with one of the details
/// "undeclared_identifier", "redefinition", "no_member", "syntax", "type", "missing_header", "link:undefined_symbol",
/// "compiler_crashed", "other". A missing compiler is the Error MissingTool of key() and compile(), not of this call;
/// so is one that does not work in the sandbox. A missing sandbox is the Error MissingTool of this call.
[[nodiscard]] Result<std::unique_ptr<KernelCompiler>> make_cpp_compiler(CppCompilerOptions options,
                                                                        ProcessRunner& runner);

/// Options of the compiler that builds HIP candidates for the processor.
struct HipCpuCompilerOptions {
  /// The C++ compiler, as a path or a name on the PATH. Empty: the first clang++ that takes vectors of _Float16, as
  /// clang does from version 15 on. It is looked for in ROCM_PATH, on the PATH (`clang++`, then `clang++-19` and its
  /// like) and in /opt/rocm.
  std::string compiler{};
  /// The compiler where there is no such clang++. g++ takes most kernels.
  std::string other_compiler = "c++";
  /// A moderate level: better ones copy calls, and threads are compared by the calls that they wait in.
  std::vector<std::string> flags{"-O1", "-finline-functions", "-march=native", "-std=c++17"};
  /// Installation::hip_cpu_dir: the directory that holds hip/hip_runtime.h.
  std::string headers_dir{};
  /// The same as in CppCompilerOptions.
  std::string abi_dir{};
  std::string output_dir{};
  std::string sandbox{};
  std::vector<std::string> toolchain_paths{};
  std::optional<std::map<std::string, std::string>> environment{};
};

/// Compiles `hip` candidates to shared objects that a processor executes: threads of a block take turns. Their results
/// are checked that way; their times mean nothing. `runner` must outlive the compiler.
///
/// Outcomes and errors are those of make_cpp_compiler. Built-in functions of AMD's compilers that the CPU does not
/// execute, such as matrix instructions, are the outcome `compile:unsupported`, which names them, and so is inline
/// assembly of a device. A source with vectors of clang that the compiler does not take is the Error MissingTool.
/// NotFound if the headers do not exist.
[[nodiscard]] Result<std::unique_ptr<KernelCompiler>> make_hip_cpu_compiler(HipCpuCompilerOptions options,
                                                                            ProcessRunner& runner);

/// The flag of a CompileRequest that gives wavefronts 32 or 64 lanes. Without it they have 64.
[[nodiscard]] std::string hip_wave_flag(int lanes);

/// Options of the compiler for CUDA candidates, and for HIP ones on NVIDIA's GPUs.
struct NvccCompilerOptions {
  /// Installation::hip_cuda_dir, for `hip` candidates: headers in place of HIP's. Empty: it compiles `cuda` candidates.
  std::string hip_headers_dir{};
  /// nvcc; empty: that of CUDA_HOME or CUDA_PATH, of the PATH, of /usr/local/cuda.
  std::string nvcc{};
  /// -lineinfo costs nothing and lets a profiler name source lines.
  std::vector<std::string> flags{"-O3", "-std=c++17", "-lineinfo"};
  /// GpuFacts::architecture of the device that the kernels will run on; they will run on no other. From sm_90 on the
  /// code may use instructions that only this architecture has (wgmma): "sm_90" is compiled as sm_90a.
  std::string architecture{};
  /// GpuFacts::driver_version of that device; 0: unknown.
  int driver_version = 0;
  /// -ccbin; empty: nvcc's own choice (NVCC_CCBIN, else gcc).
  std::string host_compiler{};
  /// The same as in CppCompilerOptions.
  std::string abi_dir{};
  std::string output_dir{};
  std::string sandbox{};
  /// More files and folders that the compiler may read; the toolkit and the host compiler need not be among them.
  std::vector<std::string> toolchain_paths{};
  std::optional<std::map<std::string, std::string>> environment{};
};

/// Compiles `cuda` candidates to shared objects with nvcc; the CUDA runtime is linked into them. `runner` must outlive
/// the compiler.
///
/// Outcomes and errors are those of make_cpp_compiler, with further details of Compile ("host_function": the host's
/// function called on the device) and Resource ("shared_memory", "registers"); CompileReport::kernels tells what each
/// kernel needs. A missing or unusable nvcc, or one that is too new for the driver, is the Error MissingTool of key()
/// and compile(); an unknown architecture is InvalidArgument here.
[[nodiscard]] Result<std::unique_ptr<KernelCompiler>> make_nvcc_compiler(NvccCompilerOptions options,
                                                                         ProcessRunner& runner);

/// Options of the compiler for HIP candidates.
struct HipccCompilerOptions {
  /// hipcc; empty: that of ROCM_PATH or HIP_PATH, of the PATH, of /opt/rocm.
  std::string hipcc{};
  std::vector<std::string> flags{"-O3", "-std=c++17"};
  /// GpuFacts::architecture of the device that the kernels will run on, "gfx90a"; they will run on no other.
  std::string architecture{};
  /// The same as in CppCompilerOptions.
  std::string abi_dir{};
  std::string output_dir{};
  std::string sandbox{};
  /// More files and folders that the compiler may read; the folder of hipcc need not be among them.
  std::vector<std::string> toolchain_paths{};
  std::optional<std::map<std::string, std::string>> environment{};
};

/// Compiles `hip` candidates to shared objects with hipcc. `runner` must outlive the compiler.
///
/// Outcomes and errors are those of make_cpp_compiler; CompileReport::kernels tells what each kernel needs. A missing
/// or incomplete ROCm, or one that does not know the architecture, is the Error MissingTool of key() and compile(); a
/// text that is no name of an architecture is InvalidArgument here.
[[nodiscard]] Result<std::unique_ptr<KernelCompiler>> make_hipcc_compiler(HipccCompilerOptions options,
                                                                          ProcessRunner& runner);

/// Options of the compiler for HipKittens candidates.
struct HipkittensCompilerOptions {
  /// Those of HIP. The architecture is one for which HipKittens has tiles: "gfx942" (CDNA 3) or "gfx950" (CDNA 4).
  HipccCompilerOptions hip{.flags = {"-O3", "-std=c++20"}};
  /// The root of a checkout of HipKittens, which holds include/kittens.cuh; empty: HIPKITTENS_ROOT of the environment.
  std::string root{};
};

/// Compiles `hipkittens` candidates to shared objects with hipcc. `runner` must outlive the compiler.
///
/// Outcomes and errors are those of make_hipcc_compiler. A checkout that is not named or lacks its header is the Error
/// MissingTool of key() and compile(), and so is a compiler that is too old for the architecture; an architecture
/// without tiles is their Error Unsupported.
[[nodiscard]] Result<std::unique_ptr<KernelCompiler>> make_hipkittens_compiler(HipkittensCompilerOptions options,
                                                                               ProcessRunner& runner);

/// Counts of what a cache has done.
struct CacheCounters {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t failures = 0;  ///< a cache that could not be read or written; the build went on
  std::uint64_t evicted = 0;   ///< files that made room
};

/// Directory and limits of a CachingCompiler.
struct CompileCacheOptions {
  /// Directory of the cache; created if it does not exist. Several processes may share it.
  std::string directory;
  /// Above this size, the files that were not used for longest are removed. Unset: never.
  std::optional<std::uint64_t> max_bytes = 5'000'000'000;
  /// Files that were used within this time stay, even above max_bytes. It must be longer than an evaluation, which
  /// opens its artifact several times.
  std::chrono::seconds keep_idle{3600};
};

/// A compiler with a cache: a request with a known key gets the stored result without a compilation.
class CachingCompiler : public KernelCompiler {
 public:
  /// Hits and misses since it was made.
  [[nodiscard]] virtual CacheCounters counters() const = 0;
};

/// Makes a compiler that caches successful and refused compilations; timeouts, crashed compilers and errors are not
/// cached. Equal requests at the same time compile once. Entries are checked when they are read; a cache that fails is
/// a miss, with a warning in CompileReport::cache.
[[nodiscard]] Result<std::unique_ptr<CachingCompiler>> make_caching_compiler(std::unique_ptr<KernelCompiler> inner,
                                                                             CompileCacheOptions options);

}  // namespace v0
}  // namespace kernelgen
