#include <kernelgen/flow/campaign_estimate.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "flow/campaign_state.hpp"
#include "flow/guarded.hpp"
#include "flow/steps.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Sums over runs that are over.
struct Experience {
  int runs = 0;
  double requests = 0;
  double tokens = 0;
  double cost = 0;
  double device_seconds = 0;
  double seconds = 0;

  void add(const CampaignRunSummary& run) {
    using Seconds = std::chrono::duration<double>;
    ++runs;
    requests += static_cast<double>(run.spent.requests);
    tokens += static_cast<double>(run.spent.tokens);
    cost += run.spent.cost;
    device_seconds += Seconds(run.device_time).count();
    seconds += Seconds(run.spent.time).count();
  }
};

/// The runs that are over, all of them and by target and model.
class ExperienceTable {
 public:
  explicit ExperienceTable(const std::vector<CampaignRunSummary>& runs) {
    for (const auto& run : runs) {
      if (!is_over(run.status)) continue;
      all_.add(run);
      groups_[{run.target, run.model}].add(run);
    }
  }
  [[nodiscard]] const Experience& all() const { return all_; }
  [[nodiscard]] const Experience& of(const CampaignRunSummary& run) const {
    const auto group = groups_.find({run.target, run.model});
    return group == groups_.end() ? all_ : group->second;
  }

 private:
  Experience all_;
  std::map<std::pair<Target, std::string>, Experience> groups_;
};

/// The first prompt of a run that has none yet, without what the judge would tell about the task; nothing if it cannot
/// be built.
std::optional<Prompt> first_prompt(const CampaignRun& run) {
  const auto prompt = guarded<Prompt>("the prompt builder", [&]() -> Result<Prompt> {
    const auto decision = run.policy.next({});
    if (decision.actions.empty()) return Error{ErrorCode::NotFound, "the policy begins without a request"};
    TaskDescribed described;
    described.description.name = run.request.task.name;
    described.device = run.request.device;
    described.gpu = run.request.gpu;
    return run.backends.prompts.build(prompt_request(run.request, described, {}, decision.actions.front()));
  });
  return prompt ? std::optional(*prompt) : std::nullopt;
}

template <class T>
void raise(std::optional<T>& largest, const std::optional<T>& value) {
  if (value && (!largest || *largest < *value)) largest = value;
}

/// Adds to a sum; a sum with an unknown part is unknown.
void add(std::optional<double>& sum, const std::optional<double>& part) {
  sum = sum && part ? std::optional(*sum + *part) : std::nullopt;
}

/// Lowers both numbers to what a limit leaves.
void limit(ExpectedAmount& amount, const std::optional<double>& left) {
  if (!left) return;
  amount.most = std::min(amount.most.value_or(*left), std::max(*left, 0.0));
  if (amount.expected) amount.expected = std::min(*amount.expected, *amount.most);
}

/// Multiplies by part / whole where both are known.
void scale(std::optional<double>& amount, const std::optional<double>& part, const std::optional<double>& whole) {
  if (amount && part && whole && *whole > 0) *amount *= *part / *whole;
}

template <class T>
std::optional<double> left_of(const std::optional<T>& limit, double spent) {
  return limit ? std::optional(static_cast<double>(*limit) - spent) : std::nullopt;
}

/// Adds up the runs that a session takes up.
class Estimator {
 public:
  Estimator(const CampaignRequest& request, const std::vector<CampaignRunSummary>& runs)
      : request_(request), runs_(runs), experience_(runs) {
    for (auto* amount : {&estimate_.requests, &estimate_.tokens, &estimate_.cost, &estimate_.device_seconds})
      *amount = {.expected = 0, .most = 0};
    estimate_.seconds.expected = 0;
    estimate_.known_runs = experience_.all().runs;
  }

  CampaignEstimate estimate() {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      ++estimate_.counts[runs_[i].status];
      if (is_selected(request_.selection, runs_[i].status)) add_run(request_.runs[i], runs_[i]);
    }
    apply_limits();
    const auto parallel = std::clamp(request_.parallel_runs, 1, std::max(estimate_.selected, 1));
    if (auto& seconds = estimate_.seconds.expected; seconds && estimate_.device_seconds.expected)
      seconds = std::max(*seconds / parallel, *estimate_.device_seconds.expected / devices_);
    return std::move(estimate_);
  }

 private:
  void add_run(const CampaignRun& run, const CampaignRunSummary& summary) {
    ++estimate_.selected;
    devices_ = std::max(devices_, run.request.parallel_evaluations);
    // A failed run begins anew.
    const bool anew = summary.status == CampaignRunStatus::Failed;
    add_expected(run, anew ? 0 : static_cast<double>(summary.spent.requests));
    add_most(run, summary, anew ? 0 : summary.finished_actions);
  }

  void add_expected(const CampaignRun& run, double used) {
    const auto& known = experience_.of(summarize_run(run));
    if (known.runs == 0) {
      for (auto* amount :
           {&estimate_.requests, &estimate_.tokens, &estimate_.cost, &estimate_.device_seconds, &estimate_.seconds})
        amount->expected.reset();
      return;
    }
    const double whole = known.requests / known.runs;
    const double left = std::max(whole - used, 1.0);
    const double share = whole > 0 ? std::min(left / whole, 1.0) / known.runs : 0;
    add(estimate_.requests.expected, left);
    add(estimate_.tokens.expected, known.tokens * share);
    add(estimate_.cost.expected, kind_without_prices(run.request) ? std::nullopt : std::optional(known.cost * share));
    add(estimate_.device_seconds.expected, known.device_seconds * share);
    add(estimate_.seconds.expected, known.seconds * share);
  }

  void add_most(const CampaignRun& run, const CampaignRunSummary& summary, int finished) {
    auto requests = left_of(summary.max_actions, finished);
    if (const auto own = left_of(run.request.budget.requests, static_cast<double>(summary.spent.requests)))
      requests = std::max(requests ? std::min(*requests, *own) : *own, 0.0);
    raise(estimate_.max_actions, summary.max_actions);
    add(estimate_.requests.most, requests);
    const auto most = most_of_one(run);
    add(estimate_.tokens.most,
        requests && most ? std::optional(*requests * static_cast<double>(most->tokens)) : std::nullopt);
    add(estimate_.cost.most,
        requests && most && !kind_without_prices(run.request) ? std::optional(*requests * most->cost) : std::nullopt);
    // How long an evaluation takes is known from evaluations alone.
    estimate_.device_seconds.most.reset();
  }

  /// The most that one request of a run can use; nothing if that is unknown.
  std::optional<Spending> most_of_one(const CampaignRun& run) {
    auto prompt = first_prompt(run);
    if (prompt && run.request.max_prompt_tokens)
      prompt->estimated_tokens = std::max(prompt->estimated_tokens, *run.request.max_prompt_tokens);
    if (prompt) raise(estimate_.prompt_tokens, std::optional(prompt->estimated_tokens));
    raise(estimate_.reply_tokens, run.request.max_output_tokens);
    if (!prompt || !run.request.max_output_tokens) return std::nullopt;
    return most_of_request(*prompt, run.request);
  }

  void apply_limits() {
    Spending spent;
    for (const auto& run : runs_) {
      spent.requests += run.spent.requests;
      spent.tokens += run.spent.tokens;
      spent.cost += run.spent.cost;
    }
    const auto& limits = request_.limits;
    const auto all = estimate_.requests;
    limit(estimate_.requests, left_of(limits.requests, static_cast<double>(spent.requests)));
    // Fewer requests need less of everything.
    for (auto* amount : {&estimate_.tokens, &estimate_.cost, &estimate_.device_seconds, &estimate_.seconds}) {
      scale(amount->expected, estimate_.requests.expected, all.expected);
      scale(amount->most, estimate_.requests.most, all.most);
    }
    limit(estimate_.tokens, left_of(limits.tokens, static_cast<double>(spent.tokens)));
    limit(estimate_.cost, left_of(limits.cost, spent.cost));
    if (limits.time) estimate_.seconds.most = static_cast<double>(limits.time->count());
  }

  const CampaignRequest& request_;
  const std::vector<CampaignRunSummary>& runs_;
  const ExperienceTable experience_;
  CampaignEstimate estimate_;
  int devices_ = 1;
};

}  // namespace

CampaignEstimate estimate_campaign(const CampaignRequest& request) {
  const auto runs = read_campaign(request.runs);
  return Estimator(request, runs).estimate();
}

}  // namespace v0
}  // namespace kernelgen
