#include "flow/steps.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <kernelgen/core/version.hpp>
#include <kernelgen/device/cpu.hpp>
#include <kernelgen/profile/findings.hpp>
#include <kernelgen/profile/headroom.hpp>
#include <kernelgen/prompt/prompt_device.hpp>
#include <kernelgen/prompt/reply_reader.hpp>

#include "flow/lineage.hpp"
#include "flow/option_text.hpp"
#include "flow/same_code.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

template <class T>
std::string optional_text(const std::optional<T>& value) {
  if (!value) return "default";
  if constexpr (std::is_floating_point_v<T>)
    return to_text(*value);
  else
    return std::to_string(*value);
}

std::string shrink_text(const EvaluationOptions& options) {
  std::vector<std::string> words;
  for (const auto& [name, value] : options.shrink) words.push_back(name + '=' + std::to_string(value));
  return to_text(words);
}

std::string without_text(const std::vector<PromptPart>& parts) {
  std::vector<std::string> words;
  words.reserve(parts.size());
  for (const auto part : parts) words.emplace_back(to_string(part));
  return to_text(words);
}

/// The current name of an option from a journal, which an earlier version may have written.
std::string current_name(const std::string& recorded) {
  static const std::map<std::string, std::string> renamed{{"policy.rescues", "policy.escalations"},
                                                          {"policy.threshold", "policy.skip_stages_score"},
                                                          {"policy.epsilon", "policy.min_stage_gain"},
                                                          {"policy.stop_at_score", "policy.stop_score"},
                                                          {"policy.goal", "policy.stop_score"}};
  const auto found = renamed.find(recorded);
  return found == renamed.end() ? recorded : found->second;
}

/// The current form of an option's value from a journal.
std::string current_value(const std::string& name, const std::string& recorded) {
  return name == "policy.profiles" && recorded == "before advice" ? "before the next prompt" : recorded;
}

/// True for recorded options that are no longer compared: the former limit of compilation had another meaning and
/// another default than the limit of building.
bool is_retired(const std::string& recorded) { return recorded == "compile_timeout_ms"; }

/// The language of an action's reply: that of the code which the action starts from.
Language language_of(const std::vector<const ActionResult*>& lineage, const Action& action, Target target) {
  auto language = default_language(target);
  for (const auto* result : lineage) {
    if (!result->candidate || result->candidate->target != target) continue;
    language = result->candidate->language;
    if (result->action.id == action.base) break;
  }
  return language;
}

/// The tolerance that the judge will use: the requested one, else the default for the dtype of the outputs.
Tolerance expected_tolerance(const EvaluationOptions& options, const TaskDescription& task) {
  auto tolerance = standard_tolerance(task);
  if (options.rtol) tolerance.rtol = *options.rtol;
  if (options.atol) tolerance.atol = *options.atol;
  return tolerance;
}

/// Adds measurements of the candidate that a step starts from.
void add_measurements(PromptRequest& prompt, const ActionResult& base, const TaskDescribed& task,
                      const Action& action) {
  if (base.headroom) prompt.headroom = base.headroom->sentence;
  if (!base.profile || base.profile->unavailable) return;
  prompt.profile = base.profile;
  const auto stage = action.kind == PromptKind::Stage ? action.variant : "";
  const auto chain = step_chain_of(task.description, base.recurrence.value_or(Recurrence::Unknown), base.headroom);
  for (auto& finding : findings_for_stage(*base.profile, stage, task.gpu, task.description.level, chain))
    prompt.findings.push_back(std::move(finding.message));
}

/// The recurrence in a few words: "a GRU of 512 steps".
std::string name_of(const RecurrenceFact& recurrence) {
  std::string kind(to_string(recurrence.kind));
  if (recurrence.kind != RecurrenceKind::Loop)
    std::transform(kind.begin(), kind.end(), kind.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
  return kind + " of " + std::to_string(recurrence.steps) + " steps";
}

/// Checks a requirement in the model's analysis against what the judge observed.
void check_requirement(Analysis& analysis, const TaskDescription& task) {
  if (!task.is_recurrent() || !task.facts->recurrence->returns || analysis.output_requirement.empty()) return;
  const auto& recurrence = *task.facts->recurrence;
  const auto name = to_string(*recurrence.returns);
  if (analysis.output_requirement != name)
    analysis.correction = "the reference returns " + std::string(name) + ", not " + analysis.output_requirement +
                          " as the analysis says: so its " + name_of(recurrence) + " behaved when it was run";
}

Attempt attempt_of(const ActionResult& result, const History& history) {
  const auto base = history.find(result.action.base);
  return {.action_id = result.action.id,
          .source = result.candidate ? result.candidate->source : "",
          .record = result.record,
          .message = result.message,
          .change = result.change,
          .base = result.action.base,
          .base_score = base == history.end() ? std::nullopt : base->second.score()};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> options_of(const FlowRequest& request, const Policy& policy) {
  const auto& evaluation = request.evaluation;
  std::map<std::string, std::string> options{
      {"atol", optional_text(evaluation.atol)},
      {"detector", request.detect_persistence ? "yes" : "no"},
      {"build_timeout_ms", std::to_string(evaluation.build_timeout.count())},
      {"call_timeout_ms", std::to_string(evaluation.call_timeout.count())},
      {"evaluation_mode", std::string(to_string(evaluation.mode))},
      {"full_comparisons", std::to_string(evaluation.measure.full_comparisons)},
      {"goal", to_text(request.goal)},
      {"library_use", std::string(to_string(evaluation.library_use))},
      {"max_output_tokens", optional_text(request.max_output_tokens)},
      {"max_prompt_tokens", optional_text(request.max_prompt_tokens)},
      {"max_relative_interval", to_text(evaluation.measure.max_relative_interval)},
      {"max_samples", std::to_string(evaluation.measure.max_samples)},
      {"memory_limit", std::to_string(evaluation.memory_limit)},
      {"precision", std::string(to_string(evaluation.precision))},
      {"rtol", optional_text(evaluation.rtol)},
      {"shrink", shrink_text(evaluation)},
      {"start", request.start ? request.start->id : "none"},
      {"threads", std::to_string(evaluation.threads)},
      {"warmup_calls", std::to_string(evaluation.measure.warmup_calls)},
      {"without", without_text(request.without)}};
  // Earlier versions had no such option.
  if (!request.effort.empty()) options["effort"] = request.effort;
  for (const auto& [name, value] : policy.options()) options["policy." + name] = value;
  return {options.begin(), options.end()};
}

int threads_of(const EvaluationOptions& options) {
  if (options.threads > 0) return options.threads;
  const auto cpu = read_cpu_facts();
  return cpu ? cpu->usable_cores : 1;
}

RunStarted start_of(const FlowRequest& request, const Policy& policy, const LLMClient& model) {
  return {std::string(version()),      request.task,    request.target, policy.name(),
          options_of(request, policy), model.identity()};
}

namespace {

/// A setting that differs between a run and what is wanted now.
struct Difference {
  std::string name;
  std::string was;
  std::string now;
};

/// What differs, except for the task; the first is the one to name.
std::vector<Difference> differences(const RunStarted& started, const RunStarted& wanted, int cores) {
  std::vector<Difference> found;
  const auto compare = [&](const std::string& name, const std::string& was, const std::string& value) {
    if (was != value) found.push_back({name, was, value});
  };
  compare("kernelgen", started.kernelgen_version, wanted.kernelgen_version);
  compare("target", std::string(to_string(started.target)), std::string(to_string(wanted.target)));
  compare("policy", started.policy, wanted.policy);
  if (model_identity(started.model) != wanted.model) compare("model", started.model, wanted.model);
  const std::map<std::string, std::string> now(wanted.options.begin(), wanted.options.end());
  for (const auto& [recorded, recorded_value] : started.options) {
    if (is_retired(recorded)) continue;
    const auto name = current_name(recorded);
    const auto was = current_value(name, recorded_value);
    const auto option = now.find(name);
    const std::string value = option == now.end() ? "(none)" : option->second;
    // Earlier versions recorded the number of cores for "one per core".
    if (name == "threads" && value == "0" && was == std::to_string(cores)) continue;
    compare(name, was, value);
  }
  return found;
}

/// True if a run cannot be continued where this differs: its verdicts and times would be those of another task, its
/// actions those of another policy, or its first kernel another one.
bool is_fixed(const Difference& difference) {
  static const std::set<std::string, std::less<>> k_fixed{
      "target",          "policy",          "atol", "rtol", "precision", "shrink", "threads", "library_use",
      "evaluation_mode", "full_comparisons"};
  const bool is_other_start = difference.name == "start" && difference.was != "none" && difference.now != "none";
  return is_other_start || k_fixed.contains(difference.name);
}

Error changed_task() {
  return {ErrorCode::InvalidArgument,
          "the task file changed since this run was started; give the new run a journal of its own"};
}

}  // namespace

Result<void> check_same_run(const RunStarted& started, const RunStarted& wanted, int cores) {
  if (started.task.content_id != wanted.task.content_id) return changed_task();
  const auto found = differences(started, wanted, cores);
  if (found.empty()) return {};
  const auto& [name, was, now] = found.front();
  const bool continuable = std::none_of(found.begin(), found.end(), is_fixed);
  return Error{ErrorCode::InvalidArgument, "this run was started with " + name + " " + was + ", not " + now +
                                               "; give the new one a journal of its own" +
                                               (continuable ? ", or continue this one" : "")};
}

Result<void> check_continuable(const RunStarted& started, const RunStarted& wanted, int cores) {
  if (started.task.content_id != wanted.task.content_id) return changed_task();
  const auto found = differences(started, wanted, cores);
  const auto fixed = std::find_if(found.begin(), found.end(), is_fixed);
  if (fixed == found.end()) return {};
  return Error{ErrorCode::InvalidArgument, "a run that was started with " + fixed->name + " " + fixed->was +
                                               " cannot be continued with " + fixed->now +
                                               "; give the new one a journal of its own"};
}

SearchFacts search_facts(const FlowRequest& request, const RunState& state) {
  SearchFacts facts{.target = request.target};
  if (state.task) facts.task = &state.task->description;
  if (request.target == Target::Cpp && state.task && state.task->threads > 0) facts.threads = state.task->threads;
  if (state.continuations > 0) facts.earlier = &state.earlier;
  return facts;
}

std::optional<int> most_actions(const Policy& policy, const Budget& budget, const RunState& state) {
  const auto planned = policy.max_actions();
  if (!planned) return std::nullopt;
  const int most = *planned + static_cast<int>(state.earlier.size());
  // Each action is at least one request.
  return static_cast<int>(std::min<std::int64_t>(most, budget.requests.value_or(most)));
}

PromptRequest prompt_request(const FlowRequest& request, const TaskDescribed& task, const History& history,
                             const Action& action) {
  PromptRequest prompt;
  prompt.kind = action.kind;
  prompt.target = request.target;
  prompt.task = request.task;
  prompt.description = task.description;
  prompt.tolerance = expected_tolerance(request.evaluation, task.description);
  // A run that an earlier version started with "one per core" has neither number.
  prompt.threads = std::max({task.threads, request.evaluation.threads, 1});
  prompt.device = task.device;
  set_prompt_gpu(prompt, task.gpu);
  prompt.variant = action.variant;
  prompt.instructions = action.instructions;
  prompt.max_tokens = request.max_prompt_tokens;
  prompt.without = request.without;
  const auto lineage = lineage_of(history, action);
  prompt.language = language_of(lineage, action, request.target);
  for (const auto* result : lineage) {
    if (result->action.id == action.base) {
      prompt.base = attempt_of(*result, history);
      add_measurements(prompt, *result, task, action);
    } else if (result->action.id == action.second_base) {
      prompt.second = attempt_of(*result, history);
    } else if (result->status != ActionStatus::Analyzed) {
      prompt.history.push_back(attempt_of(*result, history));
    }
  }
  if (const auto advice = history.find(action.analysis); advice != history.end()) {
    prompt.analysis = advice->second.analysis;
    prompt.critique = advice->second.critique;
  }
  return prompt;
}

namespace {

/// Reads an analysis or a critique.
void read_advice(ActionResult& result, const std::string& reply, const TaskDescription& task) {
  if (result.action.kind == PromptKind::Critic) {
    // The text is kept as written, because the prompt that quotes it parses it again.
    if (const auto read = read_critique(reply))
      result.critique = reply;
    else
      result.message = read.error().to_line();
  } else if (auto read = read_analysis(reply)) {
    result.analysis = *std::move(read);
    check_requirement(*result.analysis, task);
  } else {
    result.message = read.error().to_line();
  }
  if (result.critique || result.analysis) result.status = ActionStatus::Analyzed;
}

/// The action that has a verdict on this candidate; nullptr if there is none.
const ActionResult* find_verdict(const History& history, const std::string& candidate_id) {
  const auto found = std::find_if(history.begin(), history.end(), [&](const auto& entry) {
    const auto& result = entry.second;
    return result.status == ActionStatus::Evaluated && result.record && result.candidate &&
           result.candidate->id == candidate_id;
  });
  return found == history.end() ? nullptr : &found->second;
}

/// The result with the kernel that a stage was to change and did not; nullptr for other actions and kernels.
const ActionResult* unchanged_base(const History& history, const ActionResult& result) {
  if (result.action.kind != PromptKind::Stage) return nullptr;
  const auto base = history.find(result.action.base);
  const bool is_same =
      base != history.end() && base->second.correct() && is_same_code(*base->second.candidate, *result.candidate);
  return is_same ? &base->second : nullptr;
}

}  // namespace

ActionResult read_reply(const OpenAction& open, int number, const FlowRequest& request, const TaskDescription& task,
                        const History& history, const PersistentDetector& detector) {
  const auto target = request.target;
  ActionResult result;
  result.action = open.action;
  result.number = number;
  result.status = ActionStatus::NoCode;
  if (open.action.kind == PromptKind::Analysis || open.action.kind == PromptKind::Critic) {
    read_advice(result, open.reply->text, task);
    return result;
  }
  auto extracted = extract_code(*open.reply, target);
  if (!extracted.code) {
    result.message = extracted.problem;
    return result;
  }
  const auto language = language_of(lineage_of(history, open.action), open.action, target);
  result.candidate = make_candidate(target, language, *std::move(extracted.code));
  result.change = std::move(extracted.change);
  result.recurrence = recurrence_of(*result.candidate, request, detector);
  result.status = ActionStatus::NotJudged;
  if (const auto* base = unchanged_base(history, result)) {
    result.record = base->record;
    result.status = ActionStatus::Unchanged;
    result.message = "the kernel of " + base->action.id + ", unchanged";
    return result;
  }
  if (const auto* first = find_verdict(history, result.candidate->id)) share_verdict(result, *first);
  return result;
}

Recurrence recurrence_of(const Candidate& candidate, const FlowRequest& request, const PersistentDetector& detector) {
  if (!request.detect_persistence) return Recurrence::NotRecurrent;
  return detector.inspect(candidate.source, candidate.target).verdict;
}

void share_verdict(ActionResult& result, const ActionResult& first) {
  result.record = first.record;
  result.status = ActionStatus::Duplicate;
  result.message = "the same code as " + first.action.id;
}

std::optional<Headroom> headroom_of(const ActionResult& result, const TaskDescribed& task, const Profile* profile) {
  if (!result.correct() || !task.gpu) return std::nullopt;
  return find_headroom(
      {.description = task.description, .record = *result.record, .gpu = *task.gpu, .profile = profile});
}

ProfileRequest profile_request(const ActionResult& result, const FlowRequest& request, const TaskDescribed& task) {
  ProfileRequest profile;
  profile.task = request.task;
  profile.candidate = result.candidate;
  profile.precision = request.evaluation.precision;
  profile.shrink = request.evaluation.shrink;
  profile.gpu = task.gpu;
  profile.counters = request.counters;
  // One profile serves all steps that start from the kernel, whatever their stage.
  profile.metric_set = "full";
  return profile;
}

std::optional<Prices> highest_prices_of(const FlowRequest& request, PromptKind kind) {
  const auto own = request.prices_by_kind.find(kind);
  return request.prices || own == request.prices_by_kind.end() ? request.prices : std::optional(own->second);
}

std::optional<Prices> prices_of(const FlowRequest& request, PromptKind kind, const Reply& reply) {
  return !request.prices && reply.prices ? reply.prices : highest_prices_of(request, kind);
}

void add_prices(FlowRequest& request, const LLMClient& client) {
  for (const auto kind : k_prompt_kinds)
    if (const auto prices = client.terms(kind).prices) request.prices_by_kind[kind] = *prices;
}

std::optional<PromptKind> kind_without_prices(const FlowRequest& request) {
  const auto* found = std::find_if(k_prompt_kinds.begin(), k_prompt_kinds.end(),
                                   [&](PromptKind kind) { return !highest_prices_of(request, kind); });
  return found == k_prompt_kinds.end() ? std::nullopt : std::optional(*found);
}

std::optional<double> cost_of(const Reply& reply, const Prompt& prompt, const FlowRequest& request) {
  const auto prices = prices_of(request, prompt.kind, reply);
  if (!prices) return std::nullopt;
  constexpr double k_million = 1e6;
  const auto tokens = tokens_of(reply, prompt);
  const auto cached = std::clamp<std::int64_t>(tokens.cached, 0, tokens.input);
  const auto written = std::clamp<std::int64_t>(reply.usage.cache_write_tokens.value_or(0), 0, tokens.input - cached);
  const auto price = [&](std::int64_t count, double per_million) {
    return static_cast<double>(count) * per_million / k_million;
  };
  const double input = prices->per_million_input;
  return price(tokens.input - cached - written, input) + price(cached, prices->per_million_cached.value_or(input)) +
         price(written, prices->per_million_cache_write.value_or(input)) +
         price(tokens.output, prices->per_million_output);
}

bool needs_winner_check(const RunState& state, const FlowRequest& request) {
  const auto best = state.history.find(state.best);
  if (!request.sanitize_winner || best == state.history.end()) return false;
  return !best->second.correct() || best->second.record->sanitizers.empty();
}

bool is_budget_reserved(const Budget& budget, const RunState& state) {
  return budget.evaluations && state.spent.evaluations + state.open_evaluations() >= *budget.evaluations;
}

std::optional<BudgetExhausted> exhausted_budget(const Budget& budget, const ResourceUsage& spent) {
  const auto over = [](const auto& limit, auto used) { return limit && used >= *limit; };
  const auto ended = [](const std::string& which, const std::string& limit) {
    const bool is_one = limit == "1" && which.ends_with('s');
    const auto counted = is_one ? which.substr(0, which.size() - 1) : which;
    return BudgetExhausted{which, "the budget of " + limit + " " + counted + " is used up"};
  };
  if (over(budget.tokens, spent.tokens)) return ended("tokens", std::to_string(*budget.tokens));
  if (over(budget.requests, spent.requests)) return ended("requests", std::to_string(*budget.requests));
  if (over(budget.evaluations, spent.evaluations)) return ended("evaluations", std::to_string(*budget.evaluations));
  if (over(budget.cost, spent.cost)) return ended("cost", to_text(*budget.cost));
  if (over(budget.time, spent.time)) return ended("seconds", std::to_string(budget.time->count()));
  return std::nullopt;
}

}  // namespace v0
}  // namespace kernelgen
