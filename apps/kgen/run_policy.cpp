#include "run_policy.hpp"

#include <algorithm>

#include <kernelgen/flow/stages.hpp>

#include "evaluation_flags.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

/// Checks names of an option. `group_names` are the values that mean several names or none.
Result<void> check_names(const std::string& option, const std::vector<std::string>& names,
                         std::vector<std::string> known, const std::vector<std::string>& group_names) {
  const auto is_known = [&](const auto& name) { return std::find(known.begin(), known.end(), name) != known.end(); };
  const auto wrong = std::find_if_not(names.begin(), names.end(), is_known);
  if (wrong == names.end()) return {};
  known.insert(known.end(), group_names.begin(), group_names.end());
  auto error = unknown_name(*wrong, known);
  error.message = option + ": " + error.message;
  return error;
}

/// Checks names of stages. Those that stand for several are known already.
Result<void> check_stages(std::vector<std::string> names, std::vector<std::string> known) {
  names.erase(std::remove(names.begin(), names.end(), k_auto_stages), names.end());
  return check_names("--stages", names, std::move(known), {std::string(k_auto_stages), "three", "four", "none"});
}

Result<std::vector<std::string>> choose_escalations(std::string_view asked, const PromptBuilder& prompts,
                                                    Target target) {
  std::vector<std::string> names;
  if (asked == "none") return names;
  for (const auto name : split(asked, ',')) names.emplace_back(name);
  auto known = prompts.variants(PromptKind::Repair, target);
  known.emplace_back(k_restart);
  KERNELGEN_CHECK(check_names("--escalations", names, std::move(known), {"none"}));
  return names;
}

}  // namespace

std::vector<PromptPart> left_out_parts(const SearchOptions& options) {
  std::vector<PromptPart> parts;
  if (options.no_knowledge) parts.insert(parts.end(), {PromptPart::Knowledge, PromptPart::Recurrence});
  if (options.no_feedback) parts.push_back(PromptPart::Feedback);
  return parts;
}

Result<std::unique_ptr<Policy>> make_policy(const SearchOptions& options, const PromptBuilder& prompts, Target target) {
  if (options.policy != "hybrid" && options.no_analysis)
    return Error{ErrorCode::InvalidArgument, "--no-analysis needs --policy hybrid"};
  if (options.policy != "hybrid" && options.policy != "evolve" && !options.start_from.empty())
    return Error{ErrorCode::InvalidArgument, "--start-from needs --policy hybrid or evolve"};
  if (options.hybrid.seeds == 0 && options.start_from.empty())
    return Error{ErrorCode::InvalidArgument, "--seeds 0 needs a kernel to start from: --start-from"};
  const auto profiles = options.profile == "none" ? ProfileUse::Never : ProfileUse::BeforeNextPrompt;
  const auto strategies = prompts.variants(PromptKind::Seed, target);
  KERNELGEN_TRY(const auto escalations, choose_escalations(options.escalations, prompts, target));
  if (options.policy == "one-shot")
    return make_one_shot_policy({.samples = options.samples, .temperature = options.temperature});
  if (options.policy == "reflect") {
    return make_reflect_policy({.attempts = options.attempts,
                                .samples = options.samples,
                                .temperature = options.temperature,
                                .stop_score = options.stop_score > 0 ? options.stop_score : options.goal,
                                .profiles = profiles});
  }
  if (options.policy == "rounds") {
    auto rounds = options.rounds;
    rounds.temperature = options.temperature;
    rounds.stop_score = options.stop_score;
    rounds.escalations = escalations;
    if (!strategies.empty()) rounds.strategy = strategies.front();
    rounds.floor_ratio = options.floor_ratio;
    rounds.profiles = profiles;
    return make_rounds_policy(std::move(rounds));
  }
  if (options.policy == "evolve") {
    auto evolve = options.evolve;
    evolve.strategies = strategies;
    evolve.has_start = !options.start_from.empty();
    evolve.temperature = options.temperature;
    evolve.seed_repairs = options.hybrid.seed_repairs;
    evolve.child_repairs = options.hybrid.stage_repairs;
    evolve.stop_score = options.stop_score;
    evolve.escalations = escalations;
    evolve.floor_ratio = options.floor_ratio;
    evolve.profiles = profiles;
    return make_evolve_policy(std::move(evolve));
  }
  auto hybrid = options.hybrid;
  hybrid.strategies = strategies;
  hybrid.temperature = options.temperature;
  hybrid.stop_score = options.stop_score;
  hybrid.escalations = escalations;
  hybrid.floor_ratio = options.floor_ratio;
  hybrid.profiles = profiles;
  hybrid.has_start = !options.start_from.empty();
  hybrid.analyze = !options.no_analysis;
  hybrid.early_exit = options.early_exit ? EarlyExit::Yes : EarlyExit::No;
  KERNELGEN_TRY(hybrid.stages, choose_stages(options.stages).context("--stages"));
  KERNELGEN_CHECK(check_stages(hybrid.stages, prompts.variants(PromptKind::Stage, target)));
  return make_hybrid_policy(std::move(hybrid));
}

namespace {

Option search_option(std::string name, std::string value_name, std::string help, Value value) {
  return {.name = std::move(name),
          .value_name = std::move(value_name),
          .help = std::move(help),
          .value = std::move(value),
          .group = "Search",
          .task_file = TaskFileRule::Allowed};
}

Option count_option(std::string name, int& place, std::string help) {
  return search_option(std::move(name), "N", std::move(help), values::whole_number(place, {0, 1000}));
}

Option ratio_option(std::string name, double& place, std::string help) {
  constexpr double k_most = 1e6;
  return search_option(std::move(name), "X", std::move(help), values::number(place, {0, k_most}));
}

/// The value of an option that takes names separated by commas.
Value name_list(std::string& place, std::vector<std::string> completions) {
  auto value = values::text(place);
  value.completions = std::move(completions);
  value.is_list = true;
  return value;
}

void add_hybrid_options(std::vector<Option>& options, SearchOptions& search) {
  auto& hybrid = search.hybrid;
  options.push_back(count_option("--seeds", hybrid.seeds, "hybrid: first kernels, different on purpose"));
  options.push_back(count_option("--seed-repairs", hybrid.seed_repairs, "hybrid, evolve: attempts to repair a seed"));
  options.push_back(
      count_option("--optimize-repairs", hybrid.optimize_repairs, "hybrid: attempts to repair an optimized kernel"));
  options.push_back(
      count_option("--stage-repairs", hybrid.stage_repairs, "hybrid, evolve: attempts to repair a stage or a child"));
  options.push_back(search_option("--stages", "SET",
                                  "hybrid: auto (as suits the task), three, four, none, or stages: A,B,C",
                                  name_list(search.stages, {"auto", "three", "four", "none"})));
  options.push_back(search_option("--stage-tries", "N",
                                  "hybrid: kernels for a stage, while they gain and once more after one that does not",
                                  values::whole_number(hybrid.stage_tries, {1, 100})));
  options.push_back(
      search_option("--escalations", "LIST",
                    "hybrid, rounds, evolve: what is tried when an error comes back, each once, in order; or none",
                    name_list(search.escalations, {"none"})));
  options.back().retired = {"--rescues"};
  options.push_back(ratio_option("--skip-stages-score", hybrid.skip_stages_score,
                                 "hybrid: no stages for a persistent kernel with this score; 0: never"));
  options.back().retired = {"--threshold"};
  options.push_back(
      ratio_option("--min-stage-gain", hybrid.min_stage_gain, "hybrid: a stage must be faster by this fraction"));
  options.back().retired = {"--epsilon"};
  options.push_back(search_option("--early-exit", "", "hybrid: skip stages that the --profile shows as done",
                                  values::flag(search.early_exit)));
  options.push_back(ratio_option(
      "--stop-score", search.stop_score,
      "hybrid: seeds one by one until this score; rounds, reflect, evolve: end at it; 0: off (reflect: --goal)"));
  options.back().retired = {"--stop-at-score"};
  options.push_back(
      ratio_option("--floor-ratio", search.floor_ratio,
                   "hybrid, rounds, evolve: stop tuning a kernel within this factor of its lower bound; 0: never"));
}

/// Each leaves out one part of the search, to measure what it is worth.
void add_ablation_options(std::vector<Option>& options, SearchOptions& search) {
  const auto add = [&](std::string name, std::string help, bool& place) {
    options.push_back(search_option(std::move(name), "", std::move(help), values::flag(place)));
    options.back().task_file = TaskFileRule::NotAboutTask;
  };
  add("--no-analysis", "hybrid: no analysis, and no optimized kernel from it", search.no_analysis);
  add("--no-knowledge", "Prompts without what is known about tasks of this kind", search.no_knowledge);
  add("--no-detector", "No kernel counts as persistent", search.no_detector);
  add("--no-feedback", "Prompts tell of a kernel whether it is correct, and nothing more", search.no_feedback);
}

}  // namespace

void add_search_options(std::vector<Option>& options, SearchOptions& search) {
  options.push_back(
      search_option("--policy", "NAME", "hybrid, one-shot, reflect, rounds or evolve",
                    values::choice(search.policy, {"hybrid", "one-shot", "reflect", "rounds", "evolve"})));
  add_hybrid_options(options, search);
  options.push_back(count_option("--rounds", search.rounds.rounds, "rounds: kernels of the coder"));
  options.push_back(count_option("--patience", search.rounds.patience,
                                 "rounds: failures in a row before it goes back to the best kernel"));
  const auto add_evolve = [&](std::string name, int& place, std::string help, Range<std::int64_t> range) {
    options.push_back(
        search_option(std::move(name), "N", "evolve: " + std::move(help), values::whole_number(place, range)));
  };
  add_evolve("--islands", search.evolve.islands, "groups of kernels that are bred apart", {1, 100});
  add_evolve("--archive", search.evolve.archive, "diverse correct kernels that an island keeps", {1, 100});
  add_evolve("--generations", search.evolve.generations, "children of an island, at most", {0, 1000});
  // A profiled kernel runs without the sandbox, so a task may not ask for it.
  options.push_back(search_option("--profile", "KIND",
                                  "none, timeline, counters or sandboxed, of correct kernels; on this machine they run "
                                  "without the sandbox for it, but for sandboxed",
                                  values::choice(search.profile, {"none", "timeline", "counters", "sandboxed"})));
  options.back().task_file = TaskFileRule::StartsProgram;
  options.push_back(search_option("--samples", "N", "one-shot, reflect: kernels per attempt",
                                  values::whole_number(search.samples, {1, 1000})));
  options.push_back(
      search_option("--attempts", "N", "reflect: attempts", values::whole_number(search.attempts, {1, 1000})));
  options.push_back(temperature_option(search.temperature));
  options.back().group = "Search";
  add_ablation_options(options, search);
  options.push_back(ratio_option("--goal", search.goal, "Exit with 0 when the best score is at least this"));
  options.back().task_file = TaskFileRule::WeakensVerdict;
}

}  // namespace kernelgen::cli
