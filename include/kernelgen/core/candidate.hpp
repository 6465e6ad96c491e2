#pragma once

/// \file
/// Candidates (one source text for one target) and the results of compiling them.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/target.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The programming language of a source text. The target `cpp` takes C++ and C; every other target has one language,
/// which is `Custom` for all targets that are not kernelgen's own: TargetTraits tells its name.
enum class Language { Cpp, C, Cuda, Hip, Python, Custom };
[[nodiscard]] std::string_view to_string(Language language);
[[nodiscard]] std::optional<Language> parse_language(std::string_view name);
/// The language of a target's sources unless another one is given: C++ for `cpp`.
[[nodiscard]] Language default_language(Target target);

/// File extension of a target's sources in this language, with its dot: ".cpp", ".c", ".cu", ".hip", ".py".
[[nodiscard]] std::string_view file_extension(Target target, Language language);

/// The target that the file's extension names; a Python module that imports triton is `triton`, and a C++ file with
/// GPU kernels, or that includes HIP's headers, is `hip`, or `hipkittens` where its text has kittens.
/// Registered targets come after kernelgen's own. Nothing when the extension says nothing.
[[nodiscard]] std::optional<Target> guess_target(std::string_view file_name, std::string_view source);
/// The language of a file for a target: C for a `cpp` candidate in a ".c" file, else the target's default.
[[nodiscard]] Language guess_language(std::string_view file_name, Target target);

/// One source text for one target.
struct Candidate {
  Target target = Target::Cpp;
  Language language = Language::Cpp;
  std::string source;
  /// SHA-256 of target, language and source, in hex; see make_candidate.
  std::string id;
};

/// A candidate in the default language of its target, with its id.
[[nodiscard]] Candidate make_candidate(Target target, std::string source);
/// A candidate in the given language, with its id.
[[nodiscard]] Candidate make_candidate(Target target, Language language, std::string source);

/// The name under which compilers get a candidate's source, and which stands in their messages: "candidate.cpp". It
/// is the same for all candidates of a language, so that logs, records and prompts do not depend on a user's files.
[[nodiscard]] std::string source_file_name(Target target, Language language);

/// One message of a compiler about the source.
struct Diagnostic {
  /// "error", "warning" or "note".
  std::string severity;
  std::string file;
  int line = 0;    ///< 1-based; 0 where the tool gave none
  int column = 0;  ///< 1-based; 0 where the tool gave none
  std::string message;
  /// The line of the candidate that `line` names, without blanks around it; empty for other files.
  std::string source_line{};
};

/// A compiled candidate: a file that a runner can load.
struct Artifact {
  std::string candidate_id;
  Target target = Target::Cpp;
  /// A shared object for native targets, the source file itself for Python targets. Read-only, named by content.
  std::string path;
  /// SHA-256 of the key text; empty when nothing was cached.
  std::string key;
};

/// The resources that one kernel of a candidate needs on the device, as counted by the assembler.
struct KernelResources {
  /// The demangled name: "relu(float const*, float*)".
  std::string name;
  /// 32-bit registers per thread.
  int registers = 0;
  /// Bytes per thread that did not fit into the registers. Anything but 0 costs time.
  std::uint64_t spill_store_bytes = 0;
  std::uint64_t spill_load_bytes = 0;
  /// Bytes per thread, spills included.
  std::uint64_t stack_bytes = 0;
  /// Bytes per block, without the dynamic shared memory that a launch asks for.
  std::uint64_t static_shared_bytes = 0;
  std::uint64_t constant_bytes = 0;
  int barriers = 0;
  /// What compilers for AMD report; absent elsewhere. Scalar registers (SGPRs) of a warp, and those that did not fit.
  std::optional<int> scalar_registers{};
  std::optional<int> spilled_scalar_registers{};
  /// Registers per thread for matrix instructions alone (AGPRs). Where both kinds share a file, `registers` counts them
  /// too.
  std::optional<int> accumulation_registers{};
  /// Warps that one scheduler (a SIMD) has room for, as far as registers and static shared memory decide.
  std::optional<int> occupancy{};
  /// Bytes per block that the launch asks for, where it was seen.
  std::optional<std::uint64_t> dynamic_shared_bytes{};
};

/// How a compilation went, with or without an artifact.
struct CompileReport {
  std::vector<std::string> command;
  std::vector<Diagnostic> diagnostics;
  /// Everything that the compiler said, up to 256 KiB.
  std::string log;
  /// The compiler said more than `log` holds; the log's last line says so, too.
  bool log_truncated = false;
  std::chrono::nanoseconds duration{0};
  /// "hit", "miss" or "off (reason)".
  std::string cache;
  /// How strong the compiler's sandbox was: "full" or "partial: ...", as in EnvironmentReport::isolation. Empty where
  /// no compiler was started.
  std::string isolation{};
  /// One entry for each kernel, where the compiler reports them (nvcc does).
  std::vector<KernelResources> kernels{};
  /// Release of the compiler, where a CachingCompiler has asked for it; else empty. JSON has it as the record's
  /// environment.compiler alone.
  std::string compiler{};
};

}  // namespace v0
}  // namespace kernelgen
