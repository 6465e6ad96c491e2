#pragma once

/// \file
/// PromptBuilder: what is known about a task and the attempts so far, as text for a model.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kernelgen/core/action.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/prompt.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/task.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// One fact about the device: {"model", "AMD EPYC 7B13"}, {"L2 cache", "1 MiB, shared by 2 threads"}.
using DeviceFact = std::pair<std::string, std::string>;

/// A candidate and what became of it.
struct Attempt {
  std::string action_id;
  std::string source;
  std::optional<EvaluationRecord> record;
  /// Why there is no record, in one line.
  std::string message;
};

/// Everything a prompt may be made of.
struct PromptRequest {
  PromptKind kind = PromptKind::Seed;
  Target target = Target::Cpp;
  /// The language to write in, and of `base`. Unset: the target's default, C++ for `cpp`.
  std::optional<Language> language;
  TaskSource task;
  TaskDescription description;
  Tolerance tolerance;
  /// CPU threads that a candidate may use, at least 1.
  int threads = 1;
  /// Judged on a GPU. Native GPU targets always are.
  bool on_gpu = false;
  std::vector<DeviceFact> device;
  /// The candidate to repair, analyse, optimize or tune. Required for every kind but Seed.
  std::optional<Attempt> base;
  /// Earlier attempts on the same line, oldest first; shown in a line each.
  std::vector<Attempt> history;
  /// Optimize requires this or a critique.
  std::optional<Analysis> analysis;
  /// What a critic wrote about the base, as it was; quoted in prompts that ask for code.
  std::optional<std::string> critique;
  /// Where the time of the base goes.
  std::optional<Profile> profile;
  /// What the profile means for this step, in sentences, the most important first; see profile/findings.hpp.
  std::vector<std::string> findings;
  /// How far the base is from what no kernel can beat, in a sentence. Empty: unknown.
  std::string headroom;
  /// Name of a strategy hint (Seed), of a stage (Stage), of a way to repair (Repair), or of what a critic looks at
  /// (Critic: "correctness", "optimization"); see variants(). Empty: none.
  std::string variant;
  /// Optional parts are left out until the estimate fits; the reference never is.
  std::optional<std::int64_t> max_tokens;
};

/// Builds prompts. Implementations are thread-safe and pure: equal requests give equal prompts.
class PromptBuilder {
 public:
  virtual ~PromptBuilder() = default;
  /// InvalidArgument when something required is missing, the variant is unknown, the language is none of the target's,
  /// threads is below 1, or max_tokens cannot hold what is never left out.
  [[nodiscard]] virtual Result<Prompt> build(const PromptRequest& request) const = 0;
  /// What PromptRequest::variant can be. Strategy hints, which make seeds different on purpose, come in the order in
  /// which they are used; others are sorted.
  [[nodiscard]] virtual std::vector<std::string> variants(PromptKind kind, Target target) const = 0;
};

/// Where templates lie.
struct PromptBuilderOptions {
  /// Installation::prompts_dir.
  std::filesystem::path directory;
  /// Files here replace those of the same name. Empty: none.
  std::filesystem::path overrides;
};

/// Reads and parses all templates at once. Errors: NotFound for a missing one, InvalidArgument for one that is no
/// mustache, with its name and line.
[[nodiscard]] Result<std::unique_ptr<PromptBuilder>> make_prompt_builder(const PromptBuilderOptions& options);

}  // namespace v0
}  // namespace kernelgen
