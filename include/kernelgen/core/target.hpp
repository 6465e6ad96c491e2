#pragma once

/// \file
/// Targets: the kinds of candidates. kernelgen has six of its own, and a program can register more.

#include <optional>
#include <string>
#include <string_view>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// How a candidate is written and where it runs. register_target() gives values besides the named ones; what they mean
/// is in their TargetTraits. Targets are stored by name.
enum class Target : int { Cpp, Cuda, Hip, Hipkittens, Triton, Torch };

/// The form of what a runner loads.
enum class ArtifactKind {
  SharedObject,  ///< exports the kernel ABI
  PythonModule,  ///< defines a class ModelNew
};
[[nodiscard]] std::string_view to_string(ArtifactKind kind);

/// The devices that a target's kernels run on.
enum class TargetDevice {
  Cpu,
  Gpu,
  Any,  ///< a GPU where there is one, else the processor
};
[[nodiscard]] std::string_view to_string(TargetDevice device);

/// Everything that is known about a target.
struct TargetTraits {
  /// The name in records, journals and messages: a letter, then letters, digits, '_' and '-', all lower case, at
  /// most 32.
  std::string name;
  /// The form of its artifacts.
  ArtifactKind artifact = ArtifactKind::SharedObject;
  /// The devices that its kernels run on.
  TargetDevice device = TargetDevice::Cpu;
  /// The maker of the GPUs that its kernels run on: "nvidia", "amd". Empty: any.
  std::string gpu_vendor{};
  /// The extension of its source files, with its dot; it may be that of a target of kernelgen's. Empty: "." and the
  /// name.
  std::string file_extension{};
  /// The language in prompts: "MyDSL". Empty: the name.
  std::string language{};
  /// The tag of code blocks in prompts. Empty: the name.
  std::string fence_tag{};
  /// A word that every source holds, by which the code of a reply is told from other code blocks. Empty: the last code
  /// block is the source.
  std::string entry_point{};
  /// The rules of the target for prompts, in Markdown: the form of the answer, the language, an example. A template
  /// targets/NAME.mustache takes precedence.
  std::string prompt_text{};
};

/// Registers a target for this process. The same traits again give the same target. InvalidArgument for a malformed
/// name or extension, for the name of another target, and for the extension of another one that was registered.
/// Thread-safe.
[[nodiscard]] Result<Target> register_target(TargetTraits traits);

/// The traits of a target. Those of a target that this process did not register hold its name and defaults. The
/// reference stays valid.
[[nodiscard]] const TargetTraits& traits_of(Target target);
/// Whether the target is one of kernelgen's own, or was registered by this process. Other targets come from records and
/// journals of other programs: they can be read, but not evaluated.
[[nodiscard]] bool is_registered(Target target);
/// Whether the target is one of kernelgen's own.
[[nodiscard]] bool is_built_in(Target target);

[[nodiscard]] std::string_view to_string(Target target);
/// The registered target of this name.
[[nodiscard]] std::optional<Target> parse_target(std::string_view name);
/// Native targets export the kernel ABI; the others define a ModelNew class.
[[nodiscard]] bool is_native(Target target);
/// Whether the target's kernels run on a GPU only.
[[nodiscard]] bool needs_gpu(Target target);

}  // namespace v0
}  // namespace kernelgen
