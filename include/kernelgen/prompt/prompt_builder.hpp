#pragma once

/// \file
/// PromptBuilder: turns what is known about a task and its candidates into the text that a model gets.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
#include <kernelgen/device/gpu.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// One fact about the device: {"model", "AMD EPYC 7B13"}, {"L2 cache", "1 MiB, shared by 2 threads"}.
using DeviceFact = std::pair<std::string, std::string>;

/// A part of a prompt that can be left out. A token budget leaves out the first five, in this order.
enum class PromptPart {
  Examples,
  EarlierAttempts,
  Knowledge,  ///< what matters for tasks of this kind
  Profile,
  Device,
  Recurrence,  ///< the same for tasks that carry state from step to step
  Feedback,    ///< how a candidate did, beside whether it is correct: outcomes, errors, times, resources, profiles,
               ///< history
};
/// The stable name: "examples", "history".
[[nodiscard]] std::string_view to_string(PromptPart part);

/// An earlier candidate and its verdict.
struct Attempt {
  /// The action that made it, such as "seed1/repair2"; prompts name it so.
  std::string action_id;
  /// The candidate's source; empty where the reply held none.
  std::string source;
  std::optional<EvaluationRecord> record;
  /// The reason why there is no record, in one line.
  std::string message;
  /// What its reply says that it changed, in one line. Empty: nothing.
  std::string change{};
  /// The action with the candidate that it started from, and that one's score. Empty, unset: there is none.
  std::string base{};
  std::optional<double> base_score{};
};

/// Everything that a prompt can be made of.
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
  /// Whether candidates are judged on a GPU. Those for native GPU targets always are.
  bool on_gpu = false;
  /// The maker of that GPU, "amd"; empty: unknown. For native GPU targets the target tells it as well.
  std::string gpu_vendor{};
  /// Its architecture, "gfx942"; empty: unknown. A prompt has the rules of this architecture, or those of all.
  std::string gpu_architecture{};
  /// The facts of that GPU, for what follows from its sizes. Unset: unknown.
  std::optional<GpuFacts> gpu{};
  /// Facts about the device that judges, in the order in which they are shown.
  std::vector<DeviceFact> device;
  /// The candidate to repair, analyse, optimize or tune. Required for every kind but Seed.
  std::optional<Attempt> base;
  /// The other candidate of a crossover, which is correct as `base` is. Crossover requires it.
  std::optional<Attempt> second{};
  /// The attempts that led to `base`, oldest first; each is shown in one line.
  std::vector<Attempt> history;
  /// The analysis of `base`. Optimize requires this or a critique.
  std::optional<Analysis> analysis;
  /// A critic's reply about `base`, unchanged; quoted in prompts that ask for code.
  std::optional<std::string> critique;
  /// The profile of `base`.
  std::optional<Profile> profile;
  /// Sentences that say what the profile means for this step, the most important first; see profile/findings.hpp.
  std::vector<std::string> findings;
  /// One sentence on the distance between `base` and the fastest kernel that is possible. Empty: unknown.
  std::string headroom;
  /// The name of a strategy (Seed), a stage (Stage), a way to repair (Repair), or the subject of a critic (Critic:
  /// "correctness", "optimization"); see variants(). Empty: none.
  std::string variant;
  /// What the author of a policy wants to say: a section of its own, unchanged and never left out. Empty: none.
  std::string instructions{};
  /// A limit of the estimated tokens: optional parts are left out until the prompt fits. The reference is never left
  /// out.
  std::optional<std::int64_t> max_tokens;
  /// Parts that are left out.
  std::vector<PromptPart> without{};
};

/// Builds prompts. Implementations are thread-safe and pure: equal requests give equal prompts.
class PromptBuilder {
 public:
  virtual ~PromptBuilder() = default;
  /// InvalidArgument when something required is missing, the variant is unknown, the language is none of the target's,
  /// threads is below 1, max_tokens cannot hold what is never left out, or a template does not show the reference or
  /// the instructions.
  [[nodiscard]] virtual Result<Prompt> build(const PromptRequest& request) const = 0;
  /// The values of PromptRequest::variant. Strategies, which make seeds different on purpose, come in the order in
  /// which they are used; other variants are sorted.
  [[nodiscard]] virtual std::vector<std::string> variants(PromptKind kind, Target target) const = 0;
};

/// The directories of the templates.
struct PromptBuilderOptions {
  /// Installation::prompts_dir.
  std::filesystem::path directory;
  /// Templates here replace those of the same name (docs/prompts.md). A config.json here makes it a prompt set, too
  /// (prompt/prompt_set.hpp). Empty: none.
  std::filesystem::path overrides;
  /// The prompt set where `overrides` is none. Empty: none.
  std::filesystem::path prompt_set{};
};

/// A builder over templates, which it reads and parses at once. Errors: NotFound for a missing template,
/// InvalidArgument for one that is no mustache, with its file and line; those of read_prompt_set().
[[nodiscard]] Result<std::unique_ptr<PromptBuilder>> make_prompt_builder(const PromptBuilderOptions& options);

}  // namespace v0
}  // namespace kernelgen
