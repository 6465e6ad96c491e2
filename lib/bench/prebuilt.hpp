#pragma once

/// \file
/// Artifacts that a client builds with a compiler of its own, and a worker judges like those of its own compilers.
///
///     client: KernelCompiler -> Prebuilt --(evaluate_prebuilt)--> worker: content store -> sandboxed runner -> verdict

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/core/target.hpp>

namespace kernelgen {
inline namespace v0 {

/// Artifacts above this size are not sent: as text they have to fit into a frame, together with the request.
inline constexpr std::size_t k_max_prebuilt_bytes = 32u << 20;

/// The result of a client's own compiler. The worker trusts none of it: the bytes are loaded by a sandboxed runner
/// only.
struct Prebuilt {
  ArtifactKind artifact = ArtifactKind::SharedObject;
  TargetDevice device = TargetDevice::Cpu;
  /// CompileKey::digest; empty where the compiler has none.
  std::string key;
  CompileReport report;
  /// Set if the candidate did not compile. Then there are no bytes.
  std::optional<Outcome> refusal;
  std::string bytes;
};

/// Builds the candidate with the first compiler that supports its target. Nothing when the worker has to build it. A
/// module of a custom Python target that no compiler supports is its own artifact. Unsupported if the target is not
/// registered, or has no compiler. An exception of the compiler is the error Internal; if it does not end within
/// build_timeout after its stop token was triggered, this call waits for it.
[[nodiscard]] Result<std::optional<Prebuilt>> build_on_client(
    const std::vector<std::shared_ptr<KernelCompiler>>& compilers, const EvaluationRequest& request,
    const std::stop_token& stop);

/// Checks what a client sent: the size of the artifact, a class of refusal that compilers have, and for kernelgen's own
/// targets the form of their artifacts.
[[nodiscard]] Result<void> check_prebuilt(const Prebuilt& prebuilt, Target target);

/// The label of a record if the client built the artifact: "custom-compiler: 5f1c...".
[[nodiscard]] std::string label_of(const Prebuilt& prebuilt);

/// Makes a compiler that publishes the artifact in the content store `directory`, or repeats the refusal. `prebuilt`
/// must outlive it.
[[nodiscard]] std::unique_ptr<KernelCompiler> make_prebuilt_compiler(const Prebuilt& prebuilt, std::string directory);

}  // namespace v0
}  // namespace kernelgen
