#include "adapters.hpp"

#include <unistd.h>

#include <utility>
#include <variant>
#include <vector>

#include <kernelgen/bench/remote_profiler.hpp>
#include <kernelgen/core/record.hpp>

#include "convert.hpp"
#include "search.hpp"

namespace kernelgen_python {

using namespace kernelgen;

nb::object bridge(const char* name) { return nb::module_::import_("kernelgen._bridge").attr(name); }

namespace {

thread_local CallState* call_of_thread = nullptr;

class PythonBenchmarker final : public Benchmarker {
 public:
  PythonBenchmarker(CallState& state, nb::object object) : state_(state), object_(std::move(object)) {}

  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback& progress,
                                    std::stop_token stop) override {
    // The callback of Python may be kept longer than the function behind it lives.
    const auto current = std::make_shared<const ProgressCallback*>(&progress);
    auto text = ask_python<std::string>(state_, [&]() -> Result<std::string> {
      const nb::object report = nb::cpp_function([current](std::string phase, std::string detail) {
        if (*current != nullptr && **current) {
          const nb::gil_scoped_release no_gil;
          (**current)({std::move(phase), std::move(detail)});
        }
      });
      const nb::object answer = bridge("evaluate")(object_.get(), dict_of(request.task), dict_of(request.candidate),
                                                   dict_of(request.options), report, nb::cast(StopToken(stop)));
      return text_of(answer);
    });
    *current = nullptr;
    if (!text) return std::move(text).error();
    return parse_record(*text).context("reading the record of a judge in Python");
  }

  Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions& options,
                                   std::stop_token stop) override {
    auto text = ask_python<std::string>(state_, [&]() -> Result<std::string> {
      return text_of(bridge("describe")(object_.get(), dict_of(task), dict_of(options), nb::cast(StopToken(stop))));
    });
    if (!text) return std::move(text).error();
    return description_of(*text).context("reading the description of a judge in Python");
  }

 private:
  CallState& state_;
  Held object_;
};

nb::dict dict_of_request(const LLMRequest& request) {
  nb::dict to;
  to["id"] = request.id;
  to["prompt"] = request.prompt;
  to["kind"] = std::string(to_string(request.kind));
  to["temperature"] = request.temperature;
  to["effort"] = request.effort;
  to["max_output_tokens"] = nb::cast(request.max_output_tokens);
  to["timeout"] = static_cast<double>(request.timeout.count()) / 1000;
  to["fingerprint"] = request.fingerprint;
  return to;
}

Reply reply_of(const nb::dict& from) {
  Reply reply;
  assign(from, "text", reply.text);
  if (const auto finish = find<std::string>(from, "finish"))
    reply.finish = named("finish", *finish, parse_finish_reason, k_finish_reasons);
  assign(from, "model", reply.model);
  reply.usage.input_tokens = find<std::int64_t>(from, "input_tokens");
  reply.usage.output_tokens = find<std::int64_t>(from, "output_tokens");
  reply.usage.cached_tokens = find<std::int64_t>(from, "cached_tokens");
  reply.usage.reasoning_tokens = find<std::int64_t>(from, "reasoning_tokens");
  reply.usage.cache_write_tokens = find<std::int64_t>(from, "cache_write_tokens");
  return reply;
}

class PythonModel final : public LLMClient {
 public:
  PythonModel(CallState& state, nb::object object)
      : state_(state), object_(std::move(object)), identity_(text_of(nb::str(object_.get().attr("identity")()))) {
    const auto known = nb::cast<nb::dict>(bridge("terms")(object_.get()));
    for (const auto& [kind, terms] : known) {
      const auto from = nb::cast<nb::dict>(terms);
      auto& into = terms_[named("kind", text_of(kind), parse_prompt_kind, kernelgen_python::k_prompt_kinds)];
      if (const auto prices = find<nb::dict>(from, "prices")) into.prices = prices_of(*prices);
      into.max_output_tokens = find<std::int64_t>(from, "max_output_tokens");
    }
  }

  Result<Reply> complete(const LLMRequest& request, std::stop_token stop) override {
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
    const auto began = std::chrono::steady_clock::now();
    auto reply = ask_python<Reply>(state_, [&]() -> Result<Reply> {
      const nb::object answer = bridge("complete")(object_.get(), dict_of_request(request), nb::cast(StopToken(stop)));
      return reply_of(nb::cast<nb::dict>(answer));
    });
    if (reply) reply->latency = std::chrono::steady_clock::now() - began;
    return reply;
  }

  [[nodiscard]] std::string identity() const override { return identity_; }
  [[nodiscard]] ModelTerms terms(PromptKind kind) const override {
    const auto found = terms_.find(kind);
    return found == terms_.end() ? ModelTerms{} : found->second;
  }

 private:
  CallState& state_;
  Held object_;
  /// Read once: the library asks for them where it could not report an exception.
  std::string identity_;
  std::map<PromptKind, ModelTerms> terms_;
};

/// A benchmarker with compilers that are written in Python: what they raise belongs to the call that evaluates.
class CompilingBenchmarker final : public Benchmarker {
 public:
  CompilingBenchmarker(CallState& state, std::shared_ptr<Benchmarker> inner)
      : state_(state), inner_(std::move(inner)) {}

  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback& progress,
                                    std::stop_token stop) override {
    const CallOfThread here(state_);
    return inner_->evaluate(request, progress, std::move(stop));
  }
  Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions& options,
                                   std::stop_token stop) override {
    return inner_->describe(task, options, std::move(stop));
  }

 private:
  CallState& state_;
  std::shared_ptr<Benchmarker> inner_;
};

class PythonPolicy final : public Policy {
 public:
  PythonPolicy(CallState& state, nb::object object) : state_(state), object_(std::move(object)) {
    name_ = text_of(nb::str(object_.get().attr("name")()));
    const nb::object options = bridge("policy_options")(object_.get());
    for (const auto& [option, value] : nb::cast<std::vector<std::pair<Text, Text>>>(options))
      options_.emplace_back(option.get(), value.get());
    max_actions_ = nb::cast<std::optional<int>>(object_.get().attr("max_actions")());
  }
  PythonPolicy(const PythonPolicy&) = delete;
  PythonPolicy& operator=(const PythonPolicy&) = delete;
  ~PythonPolicy() override {
    const nb::gil_scoped_acquire gil;
    results_.clear();
  }

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> options() const override { return options_; }
  [[nodiscard]] std::optional<int> max_actions() const override { return max_actions_; }
  [[nodiscard]] Decision next(const History& history) const override { return decide(history, {}); }

  [[nodiscard]] Decision decide(const History& history, const SearchFacts& facts) const override {
    auto decision = call_back(state_, [&] { return ask(history, facts); });
    if (decision) {
      last_best_ = decision->best;
      return *std::move(decision);
    }
    // The call is stopping. A decision without an action, which is not the end either, changes nothing in the journal.
    Decision none;
    none.best = last_best_ ? *last_best_ : "";
    if (!last_best_) {
      if (const auto* best = best_of(history)) none.best = best->action.id;
    }
    return none;
  }

 private:
  /// A result as Python has it, with what can still change in it.
  struct Converted {
    ActionStatus status;
    bool has_profile;
    nb::object object;
  };

  Decision ask(const History& history, const SearchFacts& facts) const {
    nb::dict known;
    for (const auto& [id, result] : history) known[nb::str(id.c_str(), id.size())] = converted(id, result);
    nb::dict about;
    about["target"] = std::string(to_string(facts.target));
    about["threads"] = nb::cast(facts.threads);
    about["task"] = facts.task != nullptr ? nb::object(nb::str(description(*facts.task).c_str())) : nb::none();
    nb::list earlier;
    if (facts.earlier != nullptr)
      for (const auto& id : *facts.earlier) earlier.append(id);
    about["earlier"] = earlier;
    const auto answer = nb::cast<nb::dict>(bridge("decide")(object_.get(), known, about));
    Decision decision;
    for (const auto& action : find<std::vector<nb::dict>>(answer, "actions").value_or(std::vector<nb::dict>{}))
      decision.actions.push_back(action_of(action));
    assign(answer, "profiles", decision.profiles);
    assign(answer, "best", decision.best);
    assign(answer, "finished", decision.finished);
    assign(answer, "reason", decision.reason);
    if (!decision.best.empty() && !history.contains(decision.best))
      raise({ErrorCode::InvalidArgument,
             "policy " + name_ + " returned the best \"" + decision.best + "\", which is no result of the history"});
    return decision;
  }

  /// Results do not change but for their profiles, so each is converted once: a search of many actions would convert
  /// all of them for every decision.
  nb::object converted(const std::string& id, const ActionResult& result) const {
    const auto found = results_.find(id);
    if (found != results_.end() && found->second.status == result.status &&
        found->second.has_profile == result.profile.has_value())
      return found->second.object;
    nb::object object = bridge("action_result")(json_of(result));
    results_.insert_or_assign(id, Converted{result.status, result.profile.has_value(), object});
    return object;
  }

  const std::string& description(const TaskDescription& task) const {
    if (description_.empty()) description_ = json_of(task);
    return description_;
  }

  CallState& state_;
  Held object_;
  std::string name_;
  std::vector<std::pair<std::string, std::string>> options_;
  std::optional<int> max_actions_;
  mutable std::map<std::string, Converted> results_;
  mutable std::string description_;
  mutable std::optional<std::string> last_best_;
};

/// Keeps a benchmarker or a client of the parent in a forked child for ever: its threads do not exist here, and a
/// worker is the parent's, so that it cannot be destroyed.
void leak(std::shared_ptr<void> inherited) {
  static auto& leaked = *new std::vector<std::shared_ptr<void>>;
  leaked.push_back(std::move(inherited));
}

}  // namespace

CallOfThread::CallOfThread(CallState& state) : earlier_(std::exchange(call_of_thread, &state)) {}
CallOfThread::~CallOfThread() { call_of_thread = earlier_; }
CallState* CallOfThread::current() { return call_of_thread; }

NativeJudge::NativeJudge(Open open, Compilers compilers)
    : open_(std::move(open)), compilers_(compilers), process_(::getpid()) {
  benchmarker_ = value_of(open_());
}

NativeJudge::~NativeJudge() {
  if (process_ != ::getpid()) {
    leak(std::move(benchmarker_));
    return;
  }
  const nb::gil_scoped_release no_gil;
  benchmarker_.reset();
}

Result<std::shared_ptr<Benchmarker>> NativeJudge::benchmarker() {
  if (is_closed_) return Error{ErrorCode::InvalidArgument, "the judge is closed; open another one"};
  const std::scoped_lock lock(mutex_);
  if (process_ == ::getpid()) return benchmarker_;
  leak(std::move(benchmarker_));
  auto opened = open_();
  if (!opened) return std::move(opened).error();
  benchmarker_ = *std::move(opened);
  process_ = ::getpid();
  return benchmarker_;
}

void NativeJudge::close() {
  is_closed_ = true;
  if (process_ != ::getpid()) return;
  std::shared_ptr<Benchmarker> last;
  {
    const std::scoped_lock lock(mutex_);
    last = std::move(benchmarker_);
  }
  const nb::gil_scoped_release no_gil;
  last.reset();
}

NativeModel::NativeModel(Open open) : open_(std::move(open)), client_(value_of(open_())), process_(::getpid()) {}

NativeModel::~NativeModel() {
  if (process_ != ::getpid()) leak(std::move(client_));
}

std::shared_ptr<LLMClient> NativeModel::client() {
  if (process_ == ::getpid()) return client_;
  auto opened = value_of(open_());
  leak(std::exchange(client_, std::move(opened)));
  process_ = ::getpid();
  return client_;
}

JudgeOfCall::JudgeOfCall(CallState& state, const nb::object& judge) {
  if (!nb::isinstance<NativeJudge>(judge)) {
    benchmarker_ = std::make_shared<PythonBenchmarker>(state, judge);
    profiling_ = benchmarker_;
    return;
  }
  auto& native = nb::cast<NativeJudge&>(judge);
  profiling_ = value_of(native.benchmarker());
  benchmarker_ = native.compilers() == NativeJudge::Compilers::Python
                     ? std::make_shared<CompilingBenchmarker>(state, profiling_)
                     : profiling_;
}

Result<std::unique_ptr<Profiler>> JudgeOfCall::make_profiler(const EvaluationOptions& options) const {
  return make_remote_profiler(*profiling_, options);
}

std::function<Result<std::unique_ptr<Benchmarker>>()> benchmarkers_of(CallState& state, const nb::object& judge) {
  if (nb::isinstance<NativeJudge>(judge)) {
    const auto& native = nb::cast<const NativeJudge&>(judge);
    if (native.compilers() == NativeJudge::Compilers::Native) return native.opener();
    return [&state, open = native.opener()]() -> Result<std::unique_ptr<Benchmarker>> {
      auto opened = open();
      if (!opened) return opened;
      return std::unique_ptr<Benchmarker>(std::make_unique<CompilingBenchmarker>(state, *std::move(opened)));
    };
  }
  return [&state, held = std::make_shared<Held>(judge)]() -> Result<std::unique_ptr<Benchmarker>> {
    const nb::gil_scoped_acquire gil;
    return std::unique_ptr<Benchmarker>(std::make_unique<PythonBenchmarker>(state, held->get()));
  };
}

JudgeOfCall::~JudgeOfCall() {
  // The last reference ends a worker, which takes a moment.
  const nb::gil_scoped_release no_gil;
  benchmarker_.reset();
  profiling_.reset();
}

ModelOfCall::ModelOfCall(CallState& state, const nb::object& model) {
  if (nb::isinstance<NativeModel>(model)) {
    client_ = nb::cast<NativeModel&>(model).client();
  } else {
    client_ = std::make_shared<PythonModel>(state, model);
  }
}

std::shared_ptr<const Policy> policy_of_call(CallState& state, const nb::object& policy) {
  return std::make_shared<PythonPolicy>(state, policy);
}

ProgressCallback progress_of(CallState& state, const nb::object& callback) {
  if (callback.is_none()) return {};
  return [&state, held = std::make_shared<Held>(callback)](const EvaluationProgress& progress) {
    call_back(state, [&] { return held->get()(progress.phase, progress.detail); });
  };
}

FlowObserver observer_of(CallState& state, const nb::object& callback) {
  if (callback.is_none()) return {};
  return [&state, held = std::make_shared<Held>(callback)](const FlowNotice& notice) {
    call_back(state, [&]() -> nb::object {
      const auto& call = held->get();
      if (const auto* event = std::get_if<Event>(&notice)) return call("event", to_json(*event));
      if (const auto* step = std::get_if<EvaluationStep>(&notice))
        return call("evaluation_step", step->action_id, step->progress.phase, step->progress.detail);
      if (const auto* paused = std::get_if<ActionPaused>(&notice))
        return call("action_paused", paused->action_id, paused->reason,
                    static_cast<double>(paused->wait.count()) / 1000);
      if (const auto* reply = std::get_if<ReplyProgress>(&notice))
        return call("reply_progress", reply->action_id, reply->progress.text_bytes, reply->progress.reasoning_bytes);
      const auto& progress = std::get<FlowProgress>(notice);
      return call("flow_progress", progress.spent.tokens, progress.spent.requests, progress.spent.evaluations,
                  progress.spent.cost, progress.finished_actions, nb::cast(progress.max_actions), progress.best,
                  nb::cast(progress.best_score));
    });
  };
}

}  // namespace kernelgen_python
