#pragma once

/// \file
/// The steps of the flow without effects: from history to prompt request, and from reply to result.

#include <string>
#include <utility>
#include <vector>

#include <kernelgen/core/action.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/flow/engine.hpp>

#include "flow/run_state.hpp"

namespace kernelgen {
inline namespace v0 {

/// The options of a run as sorted names and values. A resumed run must have the same.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> options_of(const FlowRequest& request,
                                                                          const Policy& policy);

/// Number of threads that a kernel may use: as requested, else one per core of this machine.
[[nodiscard]] int threads_of(const EvaluationOptions& options);

/// The event with which a run of this request starts.
[[nodiscard]] RunStarted start_of(const FlowRequest& request, const Policy& policy, const LLMClient& model);

/// Checks that `started` and `wanted` are the same run; InvalidArgument names the first difference. Options that the
/// version which started the run did not record are not compared. `cores` is the number of threads that "one per core"
/// means here.
[[nodiscard]] Result<void> check_same_run(const RunStarted& started, const RunStarted& wanted, int cores);

/// Checks that a run can be continued as `wanted`: its task, target, policy and start kernel are the same, and options
/// that verdicts and times depend on. InvalidArgument names the first difference.
[[nodiscard]] Result<void> check_continuable(const RunStarted& started, const RunStarted& wanted, int cores);

/// What the policy is told besides the history; points into the state.
[[nodiscard]] SearchFacts search_facts(const FlowRequest& request, const RunState& state);

/// Upper bound on the actions of a run in all its time, by its policy and its budget of requests; unset: unknown.
[[nodiscard]] std::optional<int> most_actions(const Policy& policy, const Budget& budget, const RunState& state);

/// The contents of the prompt for an action.
[[nodiscard]] PromptRequest prompt_request(const FlowRequest& request, const TaskDescribed& task,
                                           const History& history, const Action& action);

/// Reads a reply: an analysis (checked against the reference), a critique, a candidate that is still to be judged
/// (status NotJudged), a duplicate of one that was judged in this run, the unchanged kernel of a stage, or nothing
/// usable.
[[nodiscard]] ActionResult read_reply(const OpenAction& open, int number, const FlowRequest& request,
                                      const TaskDescription& task, const History& history,
                                      const PersistentDetector& detector);

/// What the detector says about a candidate; not recurrent where FlowRequest::detect_persistence is off.
[[nodiscard]] Recurrence recurrence_of(const Candidate& candidate, const FlowRequest& request,
                                       const PersistentDetector& detector);

/// Makes `result` a duplicate of `first`, which has an equal candidate and a verdict.
void share_verdict(ActionResult& result, const ActionResult& first);

/// The distance of a correct result from its floor; nothing for other results, and without a known floor. `profile` may
/// be nullptr.
[[nodiscard]] std::optional<Headroom> headroom_of(const ActionResult& result, const TaskDescribed& task,
                                                  const Profile* profile);

/// The request for the profile of a result.
[[nodiscard]] ProfileRequest profile_request(const ActionResult& result, const FlowRequest& request,
                                             const TaskDescribed& task);

/// The cost of a reply; nothing without prices.
[[nodiscard]] std::optional<double> cost_of(const Reply& reply, const Prompt& prompt, const FlowRequest& request);
/// The prices that a reply to a prompt of this kind counts with.
[[nodiscard]] std::optional<Prices> prices_of(const FlowRequest& request, PromptKind kind, const Reply& reply);
/// The highest prices of a request of this kind.
[[nodiscard]] std::optional<Prices> highest_prices_of(const FlowRequest& request, PromptKind kind);

/// The budget that is used up; nothing if none is.
[[nodiscard]] std::optional<BudgetExhausted> exhausted_budget(const Budget& budget, const ResourceUsage& spent);

/// True if the winner of a search that is over is still to be watched.
[[nodiscard]] bool needs_winner_check(const RunState& state, const FlowRequest& request);

/// True if the open actions may use up the remaining evaluations, so that no other action may start.
[[nodiscard]] bool is_budget_reserved(const Budget& budget, const RunState& state);

}  // namespace v0
}  // namespace kernelgen
