#include "run_policy.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <kernelgen/flow/stages.hpp>

#include "evaluation_flags.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

/// `sets` says what else could have been said.
Result<void> check_names(const std::vector<std::string>& names, const std::vector<std::string>& known,
                         std::string_view kind, std::string_view sets) {
  for (const auto& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("unknown {0} {1}; {0}s are {2}; {3}", kind, name, fmt::join(known, ", "), sets)};
  return {};
}

Result<std::vector<std::string>> choose_escalations(std::string_view asked, const PromptBuilder& prompts,
                                                    Target target) {
  std::vector<std::string> names;
  if (asked == "none") return names;
  for (const auto name : split(asked, ',')) names.emplace_back(name);
  auto known = prompts.variants(PromptKind::Repair, target);
  known.emplace_back(k_restart);
  KERNELGEN_CHECK(check_names(names, known, "escalation", "or none"));
  return names;
}

}  // namespace

Result<std::unique_ptr<Policy>> make_policy(const SearchOptions& options, const PromptBuilder& prompts, Target target) {
  const auto profiles = options.profile == "none" ? ProfileUse::Never : ProfileUse::BeforeAdvice;
  const auto strategies = prompts.variants(PromptKind::Seed, target);
  KERNELGEN_TRY(const auto escalations, choose_escalations(options.escalations, prompts, target));
  if (options.policy == "one-shot")
    return make_one_shot_policy({.samples = options.samples, .temperature = options.temperature});
  if (options.policy == "reflect") {
    return make_reflect_policy({.attempts = options.attempts,
                                .samples = options.samples,
                                .temperature = options.temperature,
                                .goal = options.goal,
                                .profiles = profiles});
  }
  if (options.policy == "rounds") {
    auto rounds = options.rounds;
    rounds.temperature = options.temperature;
    rounds.goal = options.stop_at_score;
    rounds.escalations = escalations;
    if (!strategies.empty()) rounds.strategy = strategies.front();
    rounds.floor_ratio = options.floor_ratio;
    rounds.profiles = profiles;
    return make_rounds_policy(std::move(rounds));
  }
  if (options.policy != "hybrid")
    return Error{ErrorCode::InvalidArgument,
                 "unknown policy " + options.policy + "; policies are hybrid, one-shot, reflect, rounds"};
  auto hybrid = options.hybrid;
  hybrid.strategies = strategies;
  hybrid.temperature = options.temperature;
  hybrid.stop_at_score = options.stop_at_score;
  hybrid.escalations = escalations;
  hybrid.floor_ratio = options.floor_ratio;
  hybrid.profiles = profiles;
  hybrid.early_exit = options.early_exit ? EarlyExit::Yes : EarlyExit::No;
  KERNELGEN_TRY(hybrid.stages, choose_stages(options.stages));
  KERNELGEN_CHECK(check_names(hybrid.stages, prompts.variants(PromptKind::Stage, target), "stage",
                              "sets of them three, four, none"));
  return make_hybrid_policy(std::move(hybrid));
}

void bind_search(CLI::App& command, SearchOptions& options) {
  const auto count = [&](const char* name, int& value, const char* text) {
    command.add_option(name, value, text)->type_name("N")->check(quiet(CLI::Range(0, 1000)))->capture_default_str();
  };
  const auto number = [&](const char* name, double& value, const char* text) {
    command.add_option(name, value, text)->type_name("X")->check(quiet(CLI::NonNegativeNumber))->capture_default_str();
  };
  command.add_option("--policy", options.policy, "hybrid, one-shot, reflect or rounds")
      ->type_name("NAME")
      ->capture_default_str();
  count("--seeds", options.hybrid.seeds, "hybrid: first kernels, different on purpose");
  count("--seed-repairs", options.hybrid.seed_repairs, "hybrid: attempts to mend a seed");
  count("--optimize-repairs", options.hybrid.optimize_repairs, "hybrid: attempts to mend an optimized kernel");
  count("--stage-repairs", options.hybrid.stage_repairs, "hybrid: attempts to mend a stage");
  command.add_option("--stages", options.stages, "hybrid: three, four, none, or stages in their order: A,B,C")
      ->type_name("SET")
      ->capture_default_str();
  command
      .add_option("--escalations", options.escalations,
                  "hybrid, rounds: what is tried when an error comes back, each once, in this order; or none")
      ->type_name("LIST")
      ->capture_default_str();
  // Its name in earlier versions.
  command.add_option("--rescues", options.escalations)->group("");
  number("--threshold", options.hybrid.threshold, "hybrid: no stages for a persistent kernel with this score");
  number("--epsilon", options.hybrid.epsilon, "hybrid: a stage must be faster by this fraction");
  command.add_flag("--early-exit", options.early_exit, "hybrid: no stage whose aim the --profile shows as reached");
  number("--stop-at-score", options.stop_at_score,
         "hybrid: seeds one by one until this score; 0: all at once. rounds: end at it; 0: never");
  number("--floor-ratio", options.floor_ratio,
         "hybrid, rounds: nothing more for a kernel within this ratio of its floor; 0: always more");
  count("--rounds", options.rounds.rounds, "rounds: kernels of the coder");
  count("--patience", options.rounds.patience, "rounds: failures in a row before it goes back to the best kernel");
  command
      .add_option("--profile", options.profile,
                  "none, timeline or counters of correct kernels; they run without the sandbox for it")
      ->type_name("KIND")
      ->check(quiet(CLI::IsMember({"none", "timeline", "counters"})))
      ->capture_default_str();
  count("--samples", options.samples, "one-shot, reflect: kernels per attempt");
  count("--attempts", options.attempts, "reflect: attempts");
  number("--temperature", options.temperature, "Sampling temperature of the model");
  number("--goal", options.goal, "Exit with 0 when the best score is at least this");
}

}  // namespace kernelgen::cli
