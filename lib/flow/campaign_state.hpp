#pragma once

/// \file
/// What journals tell about a campaign: the state of each run, what was spent, what to start next. Pure.

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <kernelgen/flow/campaign.hpp>
#include <kernelgen/store/event.hpp>

#include "flow/shared_budget.hpp"

namespace kernelgen {
inline namespace v0 {

/// The most that a request can use. Where no limit of the reply is set, its tokens are not counted.
[[nodiscard]] Spending most_of_request(const Prompt& prompt, const FlowRequest& request);

/// What a request that ended with an error has used; nothing if that is unknown, because the provider may have answered
/// it.
[[nodiscard]] std::optional<Spending> spending_without_reply(ErrorCode code);

/// What the requests of a run have used, with the most for those with an unknown answer. Costs that the journal
/// lacks follow from the prices of `request`.
[[nodiscard]] Spending spending_of(const std::vector<Event>& events, const FlowRequest& request);

/// A time from the start of a session to its last event.
using SessionTime = std::pair<std::chrono::system_clock::time_point, std::chrono::system_clock::time_point>;
/// The sessions of a run, oldest first.
[[nodiscard]] std::vector<SessionTime> sessions_of(const std::vector<Event>& events);
/// The time that lies within at least one of the sessions.
[[nodiscard]] std::chrono::milliseconds time_within(std::vector<SessionTime> sessions);

/// The facts in which processes that share a campaign's budget must agree: its limits, runs and their options.
[[nodiscard]] CampaignTerms terms_of(const CampaignRequest& request);

/// The facts about a run before its journal was read.
[[nodiscard]] CampaignRunSummary summarize_run(const CampaignRun& run);
/// The facts that the events tell. A run that is not over has the status Paused, and one without an event NotBegun. A
/// run is not over while its winner is to be watched, if its own budget ended it and now allows more, and if it is to
/// be continued with other options.
[[nodiscard]] CampaignRunSummary summarize_run(const CampaignRun& run, const std::vector<Event>& events);

/// True if the selection takes up a run with this status.
[[nodiscard]] bool is_selected(RunSelection selection, CampaignRunStatus status);

/// The one of the runs `waiting` (not empty; in the given order) that is started next. RunOrder::ByValue: the one with
/// the largest chance of success for the cost of the requests that it still needs. Both are those of the runs with the
/// same target and model that are over; a run that has begun is the more promising the closer its best score is to its
/// goal, and without a correct kernel the less promising the more steps it has made.
[[nodiscard]] std::size_t choose_next(RunOrder order, const std::vector<std::size_t>& waiting,
                                      const std::vector<CampaignRunSummary>& all);

}  // namespace v0
}  // namespace kernelgen
