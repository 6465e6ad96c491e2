#include <utility>

#include <kernelgen/flow/engine.hpp>
#include <kernelgen/flow/policy.hpp>
#include <kernelgen/flow/repair_loop.hpp>
#include <kernelgen/llm/clients.hpp>
#include <kernelgen/prompt/prompt_device.hpp>
#include <kernelgen/store/journal.hpp>

#include "adapters.hpp"
#include "convert.hpp"
#include "module.hpp"

namespace kernelgen_python {

using namespace kernelgen;

namespace {

std::unique_ptr<NativeModel> open_model(const Text& spec) {
  std::shared_ptr<ProcessRunner> runner = make_process_runner();
  auto client = value_of(make_llm_client(spec.get(), {.environment = current_environment(), .runner = *runner}));
  return std::make_unique<NativeModel>(NativeModel{std::move(runner), std::move(client)});
}

class Completing final : public Work {
 public:
  Completing(CallState& state, const nb::object& model, LLMRequest request)
      : model_(state, model), request_(std::move(request)) {}

  Result<void> run(CallState& state) override {
    auto reply = model_.get().complete(request_, state.stop_token());
    if (!reply) return std::move(reply).error();
    reply_ = *std::move(reply);
    return {};
  }
  nb::object result() override {
    nb::dict to;
    to["text"] = reply_.text;
    to["finish"] = std::string(to_string(reply_.finish));
    to["model"] = reply_.model;
    to["input_tokens"] = nb::cast(reply_.usage.input_tokens);
    to["output_tokens"] = nb::cast(reply_.usage.output_tokens);
    to["cached_tokens"] = nb::cast(reply_.usage.cached_tokens);
    to["reasoning_tokens"] = nb::cast(reply_.usage.reasoning_tokens);
    return to;
  }

 private:
  ModelOfCall model_;
  LLMRequest request_;
  Reply reply_;
};

LLMRequest llm_request_of(const nb::dict& from) {
  LLMRequest request;
  assign(from, "id", request.id);
  assign(from, "prompt", request.prompt);
  if (const auto kind = find<std::string>(from, "kind"))
    request.kind = named("kind", *kind, parse_prompt_kind, k_prompt_kinds);
  assign(from, "temperature", request.temperature);
  assign(from, "effort", request.effort);
  request.max_output_tokens = find<std::int64_t>(from, "max_output_tokens");
  assign_limit(from, "timeout", request.timeout);
  assign(from, "fingerprint", request.fingerprint);
  return request;
}

Call start_complete(const nb::object& model, const nb::dict& request, const nb::object& stop,
                    const nb::object& on_done) {
  auto state = make_state(stop);
  auto work = std::make_unique<Completing>(*state, model, llm_request_of(request));
  return {std::move(state), std::move(work), on_done};
}

RepairOptions repair_options_of(const nb::dict& from) {
  RepairOptions options;
  assign(from, "max_attempts", options.max_attempts);
  assign(from, "temperature", options.temperature);
  assign(from, "escalations", options.escalations);
  assign(from, "strategies", options.strategies);
  return options;
}

/// Seeds are told apart by the strategies of the templates, as `kgen run` does it, unless the caller named others.
template <class Options>
void assign_strategies(const nb::dict& from, const std::vector<std::string>& usual, Options& options) {
  options.strategies = usual;
  assign(from, "strategies", options.strategies);
}

std::unique_ptr<Policy> make_policy(const std::string& name, const nb::dict& from,
                                    const std::vector<std::string>& strategies) {
  if (name == "hybrid") {
    HybridOptions options;
    assign_strategies(from, strategies, options);
    assign(from, "seeds", options.seeds);
    assign(from, "has_start", options.has_start);
    assign(from, "temperature", options.temperature);
    assign(from, "seed_repairs", options.seed_repairs);
    assign(from, "optimize_repairs", options.optimize_repairs);
    assign(from, "stage_repairs", options.stage_repairs);
    assign(from, "analyze", options.analyze);
    assign(from, "stages", options.stages);
    assign(from, "stage_tries", options.stage_tries);
    assign(from, "skip_stages_score", options.skip_stages_score);
    assign(from, "min_stage_gain", options.min_stage_gain);
    assign(from, "stop_score", options.stop_score);
    assign(from, "escalations", options.escalations);
    assign(from, "floor_ratio", options.floor_ratio);
    return make_hybrid_policy(std::move(options));
  }
  if (name == "evolve") {
    EvolveOptions options;
    assign_strategies(from, strategies, options);
    assign(from, "islands", options.islands);
    assign(from, "has_start", options.has_start);
    assign(from, "archive", options.archive);
    assign(from, "generations", options.generations);
    assign(from, "temperature", options.temperature);
    assign(from, "seed_repairs", options.seed_repairs);
    assign(from, "child_repairs", options.child_repairs);
    assign(from, "stop_score", options.stop_score);
    assign(from, "escalations", options.escalations);
    assign(from, "floor_ratio", options.floor_ratio);
    return make_evolve_policy(std::move(options));
  }
  if (name == "reflect") {
    ReflectOptions options;
    assign(from, "attempts", options.attempts);
    assign(from, "samples", options.samples);
    assign(from, "temperature", options.temperature);
    assign(from, "stop_score", options.stop_score);
    return make_reflect_policy(options);
  }
  if (name == "rounds") {
    RoundsOptions options;
    assign(from, "rounds", options.rounds);
    assign(from, "temperature", options.temperature);
    assign(from, "patience", options.patience);
    assign(from, "stop_score", options.stop_score);
    assign(from, "strategy", options.strategy);
    assign(from, "escalations", options.escalations);
    assign(from, "floor_ratio", options.floor_ratio);
    return make_rounds_policy(std::move(options));
  }
  if (name == "one-shot") {
    OneShotOptions options;
    assign(from, "samples", options.samples);
    assign(from, "temperature", options.temperature);
    return make_one_shot_policy(options);
  }
  raise({ErrorCode::InvalidArgument,
         "option policy is \"" + name + "\"; it must be hybrid, evolve, reflect, rounds or one-shot"});
}

std::vector<std::pair<std::string, std::string>> policy_options(const Text& name, const nb::dict& from) {
  return make_policy(name.get(), from, {})->options();
}

Budget budget_of(const nb::dict& from) {
  Budget budget;
  budget.tokens = find<std::int64_t>(from, "tokens");
  budget.requests = find<std::int64_t>(from, "requests");
  budget.evaluations = find<std::int64_t>(from, "evaluations");
  budget.cost = find<double>(from, "cost");
  if (const auto seconds = find<double>(from, "time"))
    budget.time = std::chrono::duration_cast<std::chrono::seconds>(milliseconds_of("budget.time", *seconds) +
                                                                   std::chrono::milliseconds(999));
  const auto is_negative = [](const auto& limit) { return limit && *limit < 0; };
  if (is_negative(budget.tokens) || is_negative(budget.requests) || is_negative(budget.evaluations) ||
      is_negative(budget.cost) || (budget.time && budget.time->count() < 0))
    raise({ErrorCode::InvalidArgument, "option budget has a negative limit; limits are 0 or more"});
  return budget;
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
    to["error"] = nb::none();
    if (outcome_.error) {
      const auto& error = *outcome_.error;
      to["error"] =
          nb::make_tuple(std::string(to_string(error.code)), error.message, nb::cast(error.context), error.to_line());
    }
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
        observer_(observer_of(state, observer)) {
    if (nb::isinstance<nb::tuple>(policy)) {
      const auto parts = nb::cast<std::pair<nb::str, nb::dict>>(policy);
      policy_ = make_policy(text_of(parts.first), parts.second, prompts_->variants(PromptKind::Seed, request_.target));
    } else {
      policy_ = policy_of_call(state, policy);
    }
  }

  Result<void> run(CallState& state) override {
    const auto clock = [] { return std::chrono::system_clock::now(); };
    std::unique_ptr<Journal> journal;
    if (directory_.empty()) {
      journal = make_memory_journal(clock);
    } else {
      auto opened = open_run_journal(directory_, clock);
      if (!opened) return std::move(opened).error();
      journal = *std::move(opened);
    }
    const auto runner = make_process_runner();
    auto device = find_prompt_device({.installation = installation_,
                                      .target = request_.target,
                                      .device = request_.evaluation.device,
                                      .environment = clean_environment(current_environment())},
                                     *runner, state.stop_token());
    if (!device) return std::move(device).context("looking for the device").error();
    request_.device = std::move(device->facts);
    request_.gpu = std::move(device->gpu);
    auto outcome = run_flow(request_, *policy_, {model_.get(), *prompts_, judge_.get(), *detector_}, *journal,
                            observer_, state.stop_token());
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
  std::shared_ptr<const Policy> policy_;
  FlowObserver observer_;
  FlowOutcome outcome_;
};

Call start_run(const nb::object& model, const nb::object& judge, const nb::object& policy, const nb::dict& request,
               const nb::object& observer, const nb::object& on_done) {
  auto state = std::make_shared<CallState>();
  FlowRequest flow;
  assign(request, "name", flow.name);
  flow.task = task_of(require<nb::dict>(request, "task"));
  flow.target = target_of(require<std::string>(request, "target"));
  flow.evaluation = options_of(require<nb::dict>(request, "options"));
  if (const auto start = find<nb::dict>(request, "start")) flow.start = candidate_of(*start);
  assign(request, "continues", flow.continues);
  flow.budget = budget_of(find<nb::dict>(request, "budget").value_or(nb::dict{}));
  assign(request, "goal", flow.goal);
  flow.max_prompt_tokens = find<std::int64_t>(request, "max_prompt_tokens");
  flow.max_output_tokens = find<std::int64_t>(request, "max_output_tokens");
  assign(request, "effort", flow.effort);
  assign_limit(request, "request_timeout", flow.request_timeout);
  assign(request, "parallel_requests", flow.parallel_requests);
  assign(request, "parallel_evaluations", flow.parallel_evaluations);
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
  nb::class_<NativeModel>(module, "NativeModel")
      .def("identity", [](const NativeModel& self) { return self.client->identity(); })
      .def("endpoint", [](const NativeModel& self) { return self.client->endpoint(); });
  module.def("open_model", &open_model, nb::arg("spec"));
  module.def("start_complete", &start_complete, nb::arg("model"), nb::arg("request"), nb::arg("stop").none(),
             nb::arg("on_done").none());
  module.def("policy_options", &policy_options, nb::arg("name"), nb::arg("options"));
  module.def("start_repair", &start_repair, nb::arg("model"), nb::arg("judge"), nb::arg("request"),
             nb::arg("observer").none(), nb::arg("on_done").none());
  module.def("start_run", &start_run, nb::arg("model"), nb::arg("judge"), nb::arg("policy"), nb::arg("request"),
             nb::arg("observer").none(), nb::arg("on_done").none());
  module.def("read_events", &read_events, nb::arg("directory"));
  module.def("read_history", &read_history, nb::arg("directory"));
}

}  // namespace kernelgen_python
