#include <utility>

#include <kernelgen/flow/engine.hpp>
#include <kernelgen/flow/policy.hpp>
#include <kernelgen/flow/repair_loop.hpp>
#include <kernelgen/store/journal.hpp>

#include "adapters.hpp"
#include "convert.hpp"
#include "directory_use.hpp"
#include "module.hpp"
#include "search.hpp"

namespace kernelgen_python {

using namespace kernelgen;

namespace {

RepairOptions repair_options_of(const nb::dict& from) {
  RepairOptions options;
  assign(from, "max_attempts", options.max_attempts);
  assign(from, "temperature", options.temperature);
  assign(from, "escalations", options.escalations);
  assign(from, "strategies", options.strategies);
  return options;
}

std::vector<std::pair<std::string, std::string>> policy_options(const Text& name, const nb::dict& from) {
  return make_policy(name.get(), from, {})->options();
}

nb::list list_of(const History& history) {
  nb::list results;
  for (const auto& [id, result] : history) results.append(nb::make_tuple(id, json_of(result)));
  return results;
}

class Repairing final : public Work {
 public:
  Repairing(CallState& state, const nb::object& model, const nb::object& judge, RepairRequest request,
            RepairOptions options, Installation installation, const nb::object& observer)
      : model_(state, model),
        judge_(state, judge),
        request_(std::move(request)),
        loop_(model_.get(), judge_.get(), std::move(options), std::move(installation)),
        observer_(observer_of(state, observer)) {}

  Result<void> run(CallState& state) override {
    outcome_ = loop_.run(request_, observer_, state.stop_token());
    // A stop ends a call with an error, whatever was found before. Every other error is a part of the outcome.
    if (outcome_.error && state.stop_token().stop_requested()) return *outcome_.error;
    return {};
  }
  nb::object result() override {
    nb::dict to;
    to["history"] = list_of(outcome_.history);
    to["best"] = outcome_.best;
    to["reason"] = outcome_.reason;
    to["error"] = error_parts(outcome_.error);
    return to;
  }

 private:
  ModelOfCall model_;
  JudgeOfCall judge_;
  RepairRequest request_;
  RepairLoop loop_;
  FlowObserver observer_;
  RepairOutcome outcome_;
};

Call start_repair(const nb::object& model, const nb::object& judge, const nb::dict& request, const nb::object& observer,
                  const nb::object& on_done) {
  auto state = std::make_shared<CallState>();
  RepairRequest repair;
  repair.task = task_of(require<nb::dict>(request, "task"));
  repair.candidate = candidate_of(require<nb::dict>(request, "candidate"));
  if (const auto record = find<std::string>(request, "record")) repair.record = value_of(parse_record(*record));
  repair.evaluation = options_of(require<nb::dict>(request, "options"));
  repair.max_prompt_tokens = find<std::int64_t>(request, "max_prompt_tokens");
  assign_limit(request, "request_timeout", repair.request_timeout);
  auto work = std::make_unique<Repairing>(*state, model, judge, std::move(repair), repair_options_of(request),
                                          value_of(installation_of(find<std::string>(request, "prefix").value_or(""))),
                                          observer);
  return {std::move(state), std::move(work), on_done};
}

class Searching final : public Work {
 public:
  Searching(CallState& state, const nb::object& model, const nb::object& judge, const nb::object& policy,
            FlowRequest request, const nb::dict& from, const nb::object& observer)
      : model_(state, model),
        judge_(state, judge),
        request_(std::move(request)),
        directory_(find<std::string>(from, "directory").value_or("")),
        installation_(value_of(installation_of(find<std::string>(from, "prefix").value_or("")))),
        prompts_(
            value_of(make_prompt_builder({.directory = installation_.prompts_dir,
                                          .overrides = find<std::string>(from, "prompt_overrides").value_or("")}))),
        detector_(make_persistent_detector()),
        takes_profiles_(find<bool>(from, "profiles").value_or(false)),
        policy_(policy_of_search(state, policy, policy_defaults_of(request_, *prompts_, takes_profiles_))),
        place_(place_of(judge)),
        parallel_evaluations_(parallel_evaluations_of(from)),
        observer_(observer_of(state, observer)) {}

  Result<void> run(CallState& state) override {
    if (auto added = add_terms(request_, model_.get(), request_.budget.cost.has_value(), false); !added) return added;
    const auto device = find_device(request_, place_, installation_, state.stop_token());
    if (!device) return device.error();
    set_device(request_, *device, parallel_evaluations_);
    std::optional<DirectoryUse> use;
    if (!directory_.empty()) {
      auto begun = DirectoryUse::begin(directory_, state.stop_token());
      if (!begun) return std::move(begun).error();
      use.emplace(*std::move(begun));
    }
    const auto clock = [] { return std::chrono::system_clock::now(); };
    std::unique_ptr<Journal> journal;
    if (directory_.empty()) {
      journal = make_memory_journal(clock);
    } else {
      auto opened = open_run_journal(directory_, clock);
      if (!opened) return std::move(opened).error();
      journal = *std::move(opened);
    }
    Result<std::unique_ptr<Profiler>> profiler = std::unique_ptr<Profiler>();
    if (takes_profiles_) profiler = judge_.make_profiler(request_.evaluation);
    if (!profiler) return std::move(profiler).error();
    auto outcome = run_flow(request_, *policy_, {model_.get(), *prompts_, judge_.get(), *detector_, profiler->get()},
                            *journal, observer_, state.stop_token());
    if (!outcome) return std::move(outcome).error();
    outcome_ = *std::move(outcome);
    return {};
  }
  nb::object result() override {
    nb::dict to;
    to["history"] = list_of(outcome_.history);
    to["best"] = outcome_.best;
    to["reached"] = outcome_.reached;
    to["reason"] = outcome_.reason;
    return to;
  }

 private:
  ModelOfCall model_;
  JudgeOfCall judge_;
  FlowRequest request_;
  std::string directory_;
  Installation installation_;
  std::unique_ptr<PromptBuilder> prompts_;
  std::unique_ptr<PersistentDetector> detector_;
  bool takes_profiles_;
  std::shared_ptr<const Policy> policy_;
  JudgePlace place_;
  std::optional<int> parallel_evaluations_;
  FlowObserver observer_;
  FlowOutcome outcome_;
};

Call start_run(const nb::object& model, const nb::object& judge, const nb::object& policy, const nb::dict& request,
               const nb::object& observer, const nb::object& on_done) {
  auto state = std::make_shared<CallState>();
  auto flow = flow_request_of(request);
  assign(request, "name", flow.name);
  flow.task = task_of(require<nb::dict>(request, "task"));
  flow.target = target_of(require<std::string>(request, "target"));
  if (const auto start = find<nb::dict>(request, "start")) flow.start = candidate_of(*start);
  auto work = std::make_unique<Searching>(*state, model, judge, policy, std::move(flow), request, observer);
  return {std::move(state), std::move(work), on_done};
}

std::vector<std::string> read_events(const Text& directory) {
  std::vector<std::string> lines;
  for (const auto& event : value_of(read_run_events(directory.get()))) lines.push_back(to_json(event));
  return lines;
}

nb::list read_history(const Text& directory) { return list_of(history_of(value_of(read_run_events(directory.get())))); }

}  // namespace

void bind_flow(nb::module_& module) {
  module.def("policy_options", &policy_options, nb::arg("name"), nb::arg("options"));
  module.def("start_repair", &start_repair, nb::arg("model"), nb::arg("judge"), nb::arg("request"),
             nb::arg("observer").none(), nb::arg("on_done").none());
  module.def("start_run", &start_run, nb::arg("model"), nb::arg("judge"), nb::arg("policy"), nb::arg("request"),
             nb::arg("observer").none(), nb::arg("on_done").none());
  module.def("read_events", &read_events, nb::arg("directory"));
  module.def("read_history", &read_history, nb::arg("directory"));
}

}  // namespace kernelgen_python
