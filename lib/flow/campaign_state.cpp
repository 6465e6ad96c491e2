#include "flow/campaign_state.hpp"

#include <algorithm>
#include <map>

#include <kernelgen/store/journal.hpp>

#include "flow/run_state.hpp"
#include "flow/steps.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;

/// Estimates of a prompt's tokens take four bytes for a token. Tokens of code are shorter, but hardly below this.
constexpr std::int64_t k_least_bytes_per_token = 2;

/// Adds up the requests of a run from its events.
class SpendingCounter {
 public:
  explicit SpendingCounter(const FlowRequest& request) : request_(request) {}

  void see(const Event& event) {
    if (const auto* issued = std::get_if<ActionIssued>(&event.body)) prompts_[issued->number] = &issued->prompt;
    if (const auto* sent = std::get_if<RequestSent>(&event.body)) in_flight_[sent->number] = most(sent->number);
    if (const auto* unknown = std::get_if<RequestUnknown>(&event.body)) end(unknown->number, std::nullopt);
    if (const auto* pending = std::get_if<RequestPending>(&event.body)) end(pending->number, Spending{});
    if (const auto* failed = std::get_if<RequestFailed>(&event.body)) end(failed->number, Spending{.requests = 1});
    if (const auto* deferred = std::get_if<RequestDeferred>(&event.body))
      end(deferred->number, spending_without_reply(deferred->code));
    if (const auto* arrived = std::get_if<ReplyArrived>(&event.body)) end(arrived->number, used_by(*arrived));
  }

  [[nodiscard]] Spending sum() const {
    auto sum = ended_;
    for (const auto& [number, reserved] : in_flight_) sum += reserved;
    return sum;
  }

 private:
  [[nodiscard]] Spending most(int number) const {
    const auto prompt = prompts_.find(number);
    return prompt == prompts_.end() ? Spending{.requests = 1} : most_of_request(*prompt->second, request_);
  }

  [[nodiscard]] Spending used_by(const ReplyArrived& arrived) const {
    static const Prompt unknown;
    const auto found = prompts_.find(arrived.number);
    const auto& prompt = found == prompts_.end() ? unknown : *found->second;
    const auto cost = arrived.cost ? arrived.cost : cost_of(arrived.reply, prompt, request_);
    return {.requests = 1, .tokens = total_of(tokens_of(arrived.reply, prompt)), .cost = cost.value_or(0)};
  }

  void end(int number, const std::optional<Spending>& used) {
    const auto sent = in_flight_.extract(number);
    if (!sent.empty()) ended_ += used ? *used : sent.mapped();
  }

  const FlowRequest& request_;
  /// They point into the events.
  std::map<int, const Prompt*> prompts_;
  std::map<int, Spending> in_flight_;
  Spending ended_;
};

/// True if a search that ended before its goal can go on: its budget allows more, or an outage ended it.
bool can_go_on(const RunState& state, const FlowRequest& request) {
  if (state.finished->reached) return false;
  const bool has_budget = state.exhausted && !exhausted_budget(request.budget, state.spent);
  return has_budget || !state.ended_by_outage.empty();
}

/// How the options of a run differ from those of its journal; empty if they do not.
std::string option_difference(const RunState& state, const CampaignRun& run) {
  if (!state.started) return {};
  const auto wanted = start_of(run.request, run.policy, run.backends.llm);
  const auto same = check_same_run(*state.started, wanted, threads_of(run.request.evaluation));
  return same ? std::string() : same.error().message;
}

CampaignRunStatus status_of(const RunState& state, const FlowRequest& request) {
  if (!state.started) return CampaignRunStatus::NotBegun;
  if (!state.finished || needs_winner_check(state, request) || can_go_on(state, request))
    return CampaignRunStatus::Paused;
  if (state.finished->reached) return CampaignRunStatus::Success;
  return state.best.empty() ? CampaignRunStatus::Failed : CampaignRunStatus::Partial;
}

/// Makes a run that is over one that goes on with other options.
void mark_continued(CampaignRunSummary& summary, const RunState& state) {
  summary.status = CampaignRunStatus::Paused;
  summary.reason = "over, and to be continued with other options";
  // The bound of a continued run includes the actions from before, so this one does already.
  if (summary.max_actions) *summary.max_actions += static_cast<int>(state.history.size() - state.earlier.size());
}

/// The time in which finished evaluations held their devices.
milliseconds device_time_of(const History& history) {
  milliseconds sum{0};
  for (const auto& [id, result] : history)
    if (result.status == ActionStatus::Evaluated && result.record) sum += device_time_of(*result.record);
  return sum;
}

/// Facts about several runs together.
struct GroupFacts {
  int over = 0;
  int successes = 0;
  /// Requests of the runs that are over.
  std::int64_t requests_over = 0;
  /// Requests of all runs, whether or not they are over.
  std::int64_t requests = 0;
  double cost = 0;

  void add(const CampaignRunSummary& run) {
    requests += run.spent.requests;
    cost += run.spent.cost;
    if (!is_over(run.status)) return;
    ++over;
    successes += run.status == CampaignRunStatus::Success ? 1 : 0;
    requests_over += run.spent.requests;
  }
  /// The mean cost of a request; nothing before one has cost something.
  [[nodiscard]] std::optional<double> cost_of_request() const {
    return cost > 0 && requests > 0 ? std::optional(cost / static_cast<double>(requests)) : std::nullopt;
  }
};

/// The facts about all runs, and about those with the same target and model.
struct CampaignFacts {
  explicit CampaignFacts(const std::vector<CampaignRunSummary>& runs) {
    for (const auto& run : runs) {
      all.add(run);
      groups[{run.target, run.model}].add(run);
    }
  }
  GroupFacts all;
  std::map<std::pair<Target, std::string>, GroupFacts> groups;
};

/// The chance that a run reaches its goal.
double chance_of(const CampaignRunSummary& run, const GroupFacts& group) {
  // Laplace's rule: one half before anything is known.
  const double chance = (group.successes + 1.0) / (group.over + 2.0);
  if (run.best_score && run.goal > 0) return std::max(chance, std::min(*run.best_score / run.goal, 1.0));
  return chance / (1 + run.finished_actions);
}

/// The cost of what a run still needs: in money once any request has cost some, else in requests.
double cost_left(const CampaignRunSummary& run, const GroupFacts& group, const GroupFacts& all) {
  constexpr double k_default_requests = 10;
  double whole = run.max_actions.value_or(k_default_requests);
  if (group.over > 0) whole = static_cast<double>(group.requests_over) / group.over;
  const double left = std::max(whole - static_cast<double>(run.spent.requests), 1.0);
  return left * group.cost_of_request().value_or(all.cost_of_request().value_or(1));
}

double expected_value(const CampaignRunSummary& run, const CampaignFacts& facts) {
  const auto& group = facts.groups.at({run.target, run.model});
  return chance_of(run, group) / cost_left(run, group, facts.all);
}

}  // namespace

Spending most_of_request(const Prompt& prompt, const FlowRequest& request) {
  const auto input = std::max<std::int64_t>(prompt.estimated_tokens,
                                            static_cast<std::int64_t>(prompt.text.size()) / k_least_bytes_per_token);
  const auto output = request.max_output_tokens.value_or(0);
  Spending most{.requests = 1, .tokens = input + output};
  const auto prices = highest_prices_of(request, prompt.kind);
  if (!prices) return most;
  constexpr double k_million = 1e6;
  const double input_price = std::max(
      {prices->per_million_input, prices->per_million_cached.value_or(0), prices->per_million_cache_write.value_or(0)});
  most.cost =
      (static_cast<double>(input) * input_price + static_cast<double>(output) * prices->per_million_output) / k_million;
  return most;
}

std::optional<Spending> spending_without_reply(ErrorCode code) {
  switch (code) {
    case ErrorCode::Timeout:
    case ErrorCode::Cancelled:
      return std::nullopt;
    case ErrorCode::Unavailable:
    case ErrorCode::Pending:
    // It is asked again with a shorter one.
    case ErrorCode::PromptTooLong:
      return Spending{};
    default:
      return Spending{.requests = 1};
  }
}

Spending spending_of(const std::vector<Event>& events, const FlowRequest& request) {
  SpendingCounter counter(request);
  for (const auto& event : events) counter.see(event);
  return counter.sum();
}

std::vector<SessionTime> sessions_of(const std::vector<Event>& events) {
  std::vector<SessionTime> sessions;
  for (const auto& event : events) {
    const auto time = parse_utc(event.time);
    if (!time) continue;
    if (begins_session(event.body))
      sessions.emplace_back(*time, *time);
    else if (!sessions.empty())
      sessions.back().second = std::max(sessions.back().second, *time);
  }
  return sessions;
}

milliseconds time_within(std::vector<SessionTime> sessions) {
  std::sort(sessions.begin(), sessions.end());
  std::chrono::system_clock::duration sum{0};
  std::optional<std::chrono::system_clock::time_point> covered;
  for (const auto& [begin, end] : sessions) {
    const auto from = covered ? std::max(begin, *covered) : begin;
    if (end > from) sum += end - from;
    covered = covered ? std::max(*covered, end) : end;
  }
  return std::chrono::duration_cast<milliseconds>(sum);
}

CampaignRunSummary summarize_run(const CampaignRun& run) {
  CampaignRunSummary summary;
  summary.name = run.name;
  summary.directory = run.directory;
  summary.target = run.request.target;
  summary.model = run.backends.llm.identity();
  summary.goal = run.request.goal;
  summary.max_actions = most_actions(run.policy, run.request.budget, {});
  return summary;
}

CampaignRunSummary summarize_run(const CampaignRun& run, const std::vector<Event>& events) {
  RunState state;
  for (const auto& event : events) apply(state, event);
  auto summary = summarize_run(run);
  summary.status = status_of(state, run.request);
  summary.max_actions = most_actions(run.policy, run.request.budget, state);
  summary.best = state.best;
  if (const auto best = state.history.find(state.best); best != state.history.end())
    summary.best_score = best->second.score();
  summary.spent = state.spent;
  for (const auto& [id, result] : state.history) summary.finished_actions += result.number > 0 ? 1 : 0;
  summary.device_time = device_time_of(state.history);
  if (state.finished) summary.reason = state.finished->reason;
  summary.difference = option_difference(state, run);
  if (run.request.continues && is_over(summary.status) && !summary.difference.empty()) mark_continued(summary, state);
  return summary;
}

bool is_selected(RunSelection selection, CampaignRunStatus status) {
  const bool is_failed = status == CampaignRunStatus::Failed;
  switch (selection) {
    case RunSelection::Unfinished:
      return !is_over(status);
    case RunSelection::Paused:
      return !is_over(status) && status != CampaignRunStatus::NotBegun;
    case RunSelection::Failed:
      return is_failed;
    case RunSelection::All:
      return is_failed || !is_over(status);
  }
  return false;
}

std::size_t choose_next(RunOrder order, const std::vector<std::size_t>& waiting,
                        const std::vector<CampaignRunSummary>& all) {
  if (order == RunOrder::Given) return waiting.front();
  const CampaignFacts facts(all);
  // Runs of equal value start in the given order.
  return *std::max_element(waiting.begin(), waiting.end(), [&](std::size_t a, std::size_t b) {
    return expected_value(all[a], facts) < expected_value(all[b], facts);
  });
}

}  // namespace v0
}  // namespace kernelgen
