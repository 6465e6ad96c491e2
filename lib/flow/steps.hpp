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

/// InvalidArgument, naming the first difference, when `started` was another run than `wanted`.
[[nodiscard]] Result<void> check_same_run(const RunStarted& started, const RunStarted& wanted);

/// The finished actions that an action builds on, by number: the steps above it in the tree, the repairs before it, and
/// the same of the action it starts from. All of them have finished when it is issued, so it does not matter what else
/// runs meanwhile.
[[nodiscard]] std::vector<const ActionResult*> lineage_of(const History& history, const Action& action);

/// What the prompt of an action is made of.
[[nodiscard]] PromptRequest prompt_request(const FlowRequest& request, const TaskDescribed& task,
                                           const History& history, const Action& action);

/// Reads a reply: an analysis (checked against the reference), a critique, a candidate that is still to be judged
/// (status NotJudged), a duplicate of one in its lineage, or nothing usable.
[[nodiscard]] ActionResult read_reply(const OpenAction& open, int number, const FlowRequest& request,
                                      const History& history, const PersistentDetector& detector);

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

/// Which budget is used up, if any.
[[nodiscard]] std::optional<BudgetExhausted> exhausted_budget(const Budget& budget, const Spent& spent);

/// Whether what runs already may use up what is left, so that nothing is begun before it has come back.
[[nodiscard]] bool is_committed(const Budget& budget, const RunState& state);

}  // namespace v0
}  // namespace kernelgen
