#pragma once

/// \file
/// The arrows of the flow that have no effects: history to prompt request, reply to result.

#include <string>
#include <utility>
#include <vector>

#include <kernelgen/core/action.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/flow/engine.hpp>

#include "flow/run_state.hpp"

namespace kernelgen {
inline namespace v0 {

/// Everything that steers a run, as sorted names and values: what a resumed run must have in common.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> options_of(const FlowRequest& request,
                                                                          const Policy& policy);

/// InvalidArgument, naming the first difference, when `started` was another run than `wanted`. Options that the version
/// which started the run did not record are not compared. `cores` are the threads that "one per core" means here.
[[nodiscard]] Result<void> check_same_run(const RunStarted& started, const RunStarted& wanted, int cores);

/// What the prompt of an action is made of.
[[nodiscard]] PromptRequest prompt_request(const FlowRequest& request, const TaskDescribed& task,
                                           const History& history, const Action& action);

/// Reads a reply: an analysis (checked against the reference), a critique, a candidate that is still to be judged
/// (status NotJudged), a duplicate of one that was judged in this run, or nothing usable.
[[nodiscard]] ActionResult read_reply(const OpenAction& open, int number, const FlowRequest& request,
                                      const History& history, const PersistentDetector& detector);

/// Makes `result` a duplicate of `first`, whose candidate is equal and was judged.
void share_verdict(ActionResult& result, const ActionResult& first);

/// How far a correct result is from its floor; nothing for others, and where no floor is known. `profile` may be
/// nullptr.
[[nodiscard]] std::optional<Headroom> headroom_of(const ActionResult& result, const FlowRequest& request,
                                                  const TaskDescribed& task, const Profile* profile);

/// What a profiler is asked about a result.
[[nodiscard]] ProfileRequest profile_request(const ActionResult& result, const FlowRequest& request,
                                             const TaskDescribed& task);

/// A profile that says why there is none.
[[nodiscard]] Profile unavailable_profile(std::string reason);

/// What a reply cost; nothing without prices.
[[nodiscard]] std::optional<double> cost_of(const Reply& reply, const Prompt& prompt,
                                            const std::optional<Prices>& prices);

/// The budget that is used up; nothing while all last.
[[nodiscard]] std::optional<BudgetExhausted> exhausted_budget(const Budget& budget, const Spent& spent);

/// Whether the open actions may use up the evaluations that are left, so that nothing is begun before they have
/// finished.
[[nodiscard]] bool is_committed(const Budget& budget, const RunState& state);

}  // namespace v0
}  // namespace kernelgen
