#include <algorithm>
#include <map>
#include <utility>

#include <kernelgen/flow/campaign.hpp>
#include <kernelgen/flow/campaign_estimate.hpp>
#include <kernelgen/store/results_directory.hpp>
#include <kernelgen/task/task_selection.hpp>
#include <kernelgen/task/task_source.hpp>

#include "adapters.hpp"
#include "convert.hpp"
#include "directory_use.hpp"
#include "module.hpp"
#include "search.hpp"

namespace kernelgen_python {

using namespace kernelgen;

namespace {

/// The tasks of a selection, and those that cannot be read: their names and errors.
nb::object select(const nb::dict& from) {
  TaskSelection selection;
  assign(from, "sources", selection.sources);
  assign(from, "list_files", selection.list_files);
  selection.start = find<int>(from, "start");
  selection.end = find<int>(from, "end");
  selection.first = find<int>(from, "first");
  if (const auto count = find<int>(from, "sample"))
    selection.sample = TaskSample{*count, find<std::int64_t>(from, "seed").value_or(0)};
  const TaskLocator locator{.kernelbench_dir = require<std::string>(from, "kernelbench_dir")};
  nb::list tasks;
  nb::list unreadable;
  for (const auto& selected : value_of(select_tasks(selection, locator))) {
    auto task = load_task_source(selected.path.string());
    if (!task) {
      unreadable.append(nb::make_tuple(selected.name, error_parts(task.error())));
      continue;
    }
    task->name = selected.name;
    tasks.append(dict_of(*task));
  }
  return nb::make_tuple(tasks, unreadable);
}

constexpr std::string_view k_selections = "unfinished, paused, failed or all";

std::optional<RunSelection> parse_selection(std::string_view name) {
  if (name == "unfinished") return RunSelection::Unfinished;
  if (name == "paused") return RunSelection::Paused;
  if (name == "failed") return RunSelection::Failed;
  if (name == "all") return RunSelection::All;
  return {};
}

std::optional<RunOrder> parse_order(std::string_view name) {
  if (name == "given") return RunOrder::Given;
  if (name == "value") return RunOrder::ByValue;
  return {};
}

CampaignLimits limits_of(const nb::dict& from) {
  CampaignLimits limits;
  limits.requests = find<std::int64_t>(from, "requests");
  limits.tokens = find<std::int64_t>(from, "tokens");
  limits.cost = find<double>(from, "cost");
  limits.time = time_limit_of(from, "time", "limits.time");
  check_limit("limits", limits.requests);
  check_limit("limits", limits.tokens);
  check_limit("limits", limits.cost);
  return limits;
}

/// Every task with every target and model, as `kgen batch` makes runs of them, under the same names.
class CampaignSetup {
 public:
  CampaignSetup(CallState& state, const std::vector<nb::object>& models, const nb::object& judge,
                const nb::object& policy, const nb::dict& from)
      : judge_(state, judge),
        installation_(value_of(installation_of(""))),
        prompts_(
            value_of(make_prompt_builder({.directory = installation_.prompts_dir,
                                          .overrides = find<std::string>(from, "prompt_overrides").value_or("")}))),
        detector_(make_persistent_detector()),
        takes_profiles_(find<bool>(from, "profiles").value_or(false)),
        place_(place_of(judge)),
        parallel_evaluations_(parallel_evaluations_of(from)) {
    request_.limits = limits_of(require<nb::dict>(from, "limits"));
    assign(from, "parallel_runs", request_.parallel_runs);
    if (request_.parallel_runs < 1) raise({ErrorCode::InvalidArgument, "option parallel_runs is 1 or more"});
    request_.selection = named("retry", require<std::string>(from, "retry"), parse_selection, k_selections);
    request_.order = named("order", require<std::string>(from, "order"), parse_order, "given or value");
    request_.results_directory = require<std::string>(from, "directory");
    name_ = require<std::string>(from, "name");
    for (const auto& model : models) add_model(state, model);
    for (const auto& target : require<std::vector<std::string>>(from, "targets"))
      if (const auto one = target_of(target); std::find(targets_.begin(), targets_.end(), one) == targets_.end())
        targets_.push_back(one);
    const auto common = flow_request_of(from);
    for (const auto& task : require<std::vector<nb::dict>>(from, "tasks"))
      for (const auto target : targets_)
        for (const auto& model : models_) add_run(state, common, task_of(task), target, model, policy);
  }

  /// Completes the requests with what has to be asked for.
  Result<void> prepare(const std::stop_token& stop) {
    if (takes_profiles_) {
      auto made =
          judge_.make_profiler(request_.runs.empty() ? EvaluationOptions{} : request_.runs[0].request.evaluation);
      if (!made) return std::move(made).error();
      profiler_ = *std::move(made);
    }
    std::map<Target, PromptDevice> devices;
    for (auto& run : request_.runs) {
      const auto target = run.request.target;
      if (!devices.contains(target)) {
        auto found = find_device(run.request, place_, installation_, stop);
        if (!found) return std::move(found).error();
        devices.emplace(target, *std::move(found));
      }
      set_device(run.request, devices.at(target), parallel_evaluations_);
      run.backends.profiler = profiler_.get();
    }
    return {};
  }
  [[nodiscard]] const CampaignRequest& request() const { return request_; }

 private:
  struct NamedModel {
    std::unique_ptr<ModelOfCall> client;
    std::string name;
  };

  void add_model(CallState& state, const nb::object& model) {
    NamedModel made{std::make_unique<ModelOfCall>(state, model), {}};
    made.name = run_name_of_model(made.client->get().identity());
    for (const auto& other : models_) {
      if (other.name == made.name)
        raise({ErrorCode::InvalidArgument, "two models would have the same results, those of " + made.name +
                                               "; give one of them a campaign of its own, with another name"});
    }
    models_.push_back(std::move(made));
  }

  void add_run(CallState& state, const FlowRequest& common, const TaskSource& task, Target target,
               const NamedModel& model, const nb::object& policy) {
    std::string name = name_;
    const auto add = [&name](std::string_view part) { name += (name.empty() ? "" : "-") + std::string(part); };
    if (targets_.size() > 1) add(to_string(target));
    if (models_.size() > 1) add(model.name);
    FlowRequest request = common;
    request.task = task;
    request.target = target;
    request.name = name.empty() ? task.name : task.name + '.' + name;
    const bool limits_cost = request_.limits.cost || request.budget.cost;
    value_of(add_terms(request, model.client->get(), limits_cost, request_.limits.tokens.has_value()));
    if ((request_.limits.tokens || request_.limits.cost) && !request.max_output_tokens)
      raise({ErrorCode::InvalidArgument,
             "limits of tokens and cost need option max_output_tokens: without it a request "
             "may cost any amount"});
    // Each has a policy of its own, because it keeps results of its search.
    policies_.push_back(policy_of_search(state, policy, policy_defaults_of(request, *prompts_, takes_profiles_)));
    request_.runs.push_back({.name = name.empty() ? task.name : task.name + '/' + name,
                             .directory = value_of(run_directory(request_.results_directory, task.name, name)),
                             .request = std::move(request),
                             .policy = *policies_.back(),
                             .backends = {model.client->get(), *prompts_, judge_.get(), *detector_}});
  }

  JudgeOfCall judge_;
  Installation installation_;
  std::unique_ptr<PromptBuilder> prompts_;
  std::unique_ptr<PersistentDetector> detector_;
  std::unique_ptr<Profiler> profiler_;
  bool takes_profiles_;
  JudgePlace place_;
  std::optional<int> parallel_evaluations_;
  std::string name_;
  std::vector<NamedModel> models_;
  std::vector<Target> targets_;
  std::vector<std::shared_ptr<const Policy>> policies_;
  CampaignRequest request_;
};

nb::dict dict_of_run(const CampaignRunSummary& run) {
  nb::dict to;
  to["name"] = run.name;
  to["directory"] = run.directory.string();
  to["status"] = std::string(to_string(run.status));
  to["target"] = std::string(to_string(run.target));
  to["model"] = run.model;
  to["goal"] = run.goal;
  to["best"] = run.best;
  to["best_score"] = nb::cast(run.best_score);
  to["spent"] = dict_of(run.spent);
  to["finished_actions"] = run.finished_actions;
  to["max_actions"] = nb::cast(run.max_actions);
  to["device_time"] = std::chrono::duration<double>(run.device_time).count();
  to["reason"] = run.reason;
  to["error"] = error_parts(run.error);
  to["difference"] = run.difference;
  return to;
}

CampaignObserver campaign_observer_of(CallState& state, const nb::object& callback) {
  if (callback.is_none()) return {};
  return [&state, held = std::make_shared<Held>(callback)](const CampaignNotice& notice,
                                                           const CampaignProgress& progress) {
    call_back(state, [&]() -> nb::object {
      const auto& call = held->get();
      call("progress", dict_of(progress.spent), progress.used_fraction);
      const auto run = [&](const auto& of) { return dict_of_run(progress.runs[of.run]); };
      if (const auto* started = std::get_if<CampaignRunStarted>(&notice)) return call("run_started", run(*started));
      if (const auto* attempt = std::get_if<CampaignAttempt>(&notice))
        return call("attempt", run(*attempt), json_of(attempt->result));
      if (const auto* better = std::get_if<CampaignBetterKernel>(&notice)) return call("better_kernel", run(*better));
      if (const auto* wait = std::get_if<CampaignWait>(&notice))
        return call("pause", run(*wait), wait->pause.action_id, wait->pause.reason,
                    static_cast<double>(wait->pause.wait.count()) / 1000);
      if (const auto* ended = std::get_if<CampaignRunEnded>(&notice)) return call("run_ended", run(*ended));
      return call("budget_warning");
    });
  };
}

class Campaigning final : public Work {
 public:
  Campaigning(CallState& state, const std::vector<nb::object>& models, const nb::object& judge,
              const nb::object& policy, const nb::dict& request, const nb::object& observer)
      : setup_(state, models, judge, policy, request), observer_(campaign_observer_of(state, observer)) {}

  Result<void> run(CallState& state) override {
    if (auto prepared = setup_.prepare(state.stop_token()); !prepared) return prepared;
    const auto use = DirectoryUse::begin(setup_.request().results_directory, state.stop_token());
    if (!use) return use.error();
    auto outcome = run_campaign(setup_.request(), observer_, state.stop_token());
    if (!outcome) return std::move(outcome).error();
    if (outcome->cancelled) return Error{ErrorCode::Cancelled, "the campaign was stopped; it can be resumed"};
    outcome_ = *std::move(outcome);
    return {};
  }
  nb::object result() override {
    nb::dict to;
    nb::list runs;
    for (const auto& run : outcome_.runs) runs.append(dict_of_run(run));
    to["runs"] = runs;
    to["spent"] = dict_of(outcome_.spent);
    return to;
  }

 private:
  CampaignSetup setup_;
  CampaignObserver observer_;
  CampaignOutcome outcome_;
};

class Estimating final : public Work {
 public:
  Estimating(CallState& state, const std::vector<nb::object>& models, const nb::object& judge, const nb::object& policy,
             const nb::dict& request)
      : setup_(state, models, judge, policy, request) {}

  Result<void> run(CallState& state) override {
    if (auto prepared = setup_.prepare(state.stop_token()); !prepared) return prepared;
    estimate_ = estimate_campaign(setup_.request());
    return {};
  }
  nb::object result() override {
    const auto amount = [](const ExpectedAmount& of) {
      return nb::make_tuple(nb::cast(of.expected), nb::cast(of.most));
    };
    nb::dict counts;
    for (const auto& [status, count] : estimate_.counts)
      counts[nb::str(std::string(to_string(status)).c_str())] = count;
    nb::dict to;
    to["counts"] = counts;
    to["selected"] = estimate_.selected;
    to["requests"] = amount(estimate_.requests);
    to["tokens"] = amount(estimate_.tokens);
    to["cost"] = amount(estimate_.cost);
    to["device_seconds"] = amount(estimate_.device_seconds);
    to["seconds"] = amount(estimate_.seconds);
    to["known_runs"] = estimate_.known_runs;
    to["max_actions"] = nb::cast(estimate_.max_actions);
    to["prompt_tokens"] = nb::cast(estimate_.prompt_tokens);
    to["reply_tokens"] = nb::cast(estimate_.reply_tokens);
    return to;
  }

 private:
  CampaignSetup setup_;
  CampaignEstimate estimate_;
};

Call start_campaign(const std::vector<nb::object>& models, const nb::object& judge, const nb::object& policy,
                    const nb::dict& request, const nb::object& observer, const nb::object& on_done) {
  auto state = std::make_shared<CallState>();
  auto work = std::make_unique<Campaigning>(*state, models, judge, policy, request, observer);
  return {std::move(state), std::move(work), on_done};
}

Call start_estimate(const std::vector<nb::object>& models, const nb::object& judge, const nb::object& policy,
                    const nb::dict& request, const nb::object& on_done) {
  auto state = std::make_shared<CallState>();
  auto work = std::make_unique<Estimating>(*state, models, judge, policy, request);
  return {std::move(state), std::move(work), on_done};
}

}  // namespace

void bind_campaign(nb::module_& module) {
  module.def("select_tasks", &select, nb::arg("selection"));
  module.def("start_campaign", &start_campaign, nb::arg("models"), nb::arg("judge"), nb::arg("policy"),
             nb::arg("request"), nb::arg("observer").none(), nb::arg("on_done").none());
  module.def("start_estimate", &start_estimate, nb::arg("models"), nb::arg("judge"), nb::arg("policy"),
             nb::arg("request"), nb::arg("on_done").none());
}

}  // namespace kernelgen_python
