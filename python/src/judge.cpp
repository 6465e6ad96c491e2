#include "judge.hpp"

#include <algorithm>
#include <utility>

#include <kernelgen/bench/fake_benchmarker.hpp>
#include <kernelgen/core/installation.hpp>

#include "adapters.hpp"
#include "convert.hpp"
#include "module.hpp"

namespace kernelgen_python {

using namespace kernelgen;

namespace {

class Evaluating final : public Work {
 public:
  Evaluating(CallState& state, const nb::object& judge, EvaluationRequest request, const nb::object& progress)
      : judge_(state, judge), request_(std::move(request)), progress_(progress_of(state, progress)) {}

  Result<void> run(CallState& state) override {
    auto record = judge_.get().evaluate(request_, progress_, state.stop_token());
    if (!record) return std::move(record).error();
    // Written here, where the GIL is free.
    json_ = to_json(*record);
    return {};
  }
  nb::object result() override { return nb::str(json_.data(), json_.size()); }

 private:
  JudgeOfCall judge_;
  EvaluationRequest request_;
  ProgressCallback progress_;
  std::string json_;
};

class Describing final : public Work {
 public:
  Describing(CallState& state, const nb::object& judge, TaskSource task, EvaluationOptions options)
      : judge_(state, judge), task_(std::move(task)), options_(std::move(options)) {}

  Result<void> run(CallState& state) override {
    auto description = judge_.get().describe(task_, options_, state.stop_token());
    if (!description) return std::move(description).error();
    json_ = json_of(*description);
    return {};
  }
  nb::object result() override { return nb::str(json_.data(), json_.size()); }

 private:
  JudgeOfCall judge_;
  TaskSource task_;
  EvaluationOptions options_;
  std::string json_;
};

std::unique_ptr<NativeJudge> open_judge(const Text& python, const Text& cache_dir, const Text& prefix,
                                        const std::vector<Text>& launch_prefix,
                                        const std::vector<nb::object>& compilers) {
  LocalJudgeOptions local;
  local.installation = value_of(installation_of(prefix.get()));
  local.python = python.get();
  local.cache_dir = cache_dir.get();
  for (const auto& compiler : compilers) local.compilers.push_back(compiler_of(compiler));
  const auto is_python = [](const nb::object& compiler) { return !nb::isinstance<NativeCompiler>(compiler); };
  const auto kind = std::any_of(compilers.begin(), compilers.end(), is_python) ? NativeJudge::Compilers::Python
                                                                               : NativeJudge::Compilers::Native;
  if (launch_prefix.empty()) return std::make_unique<NativeJudge>(LocalJudgeOpener{std::move(local)}, kind);
  WorkerBenchmarkerOptions worker;
  worker.installation = *local.installation;
  for (const auto& part : launch_prefix) worker.launch_prefix.push_back(part.get());
  worker.python = local.python;
  worker.cache_dir = local.cache_dir;
  worker.compilers = local.compilers;
  return std::make_unique<NativeJudge>([worker] { return make_worker_benchmarker(worker); }, kind);
}

/// A judge that gives every candidate the same record, for tests and measurements of programs.
std::unique_ptr<NativeJudge> fake_judge(const Text& record_json) {
  const auto record = value_of(parse_record(record_json.get()));
  return std::make_unique<NativeJudge>([record]() -> Result<std::unique_ptr<Benchmarker>> {
    return std::unique_ptr<Benchmarker>(std::make_unique<FakeBenchmarker>(
        [record](const EvaluationRequest&) -> Result<EvaluationRecord> { return record; }));
  });
}

Call start_evaluate(const nb::object& judge, const nb::dict& task, const nb::dict& candidate, const nb::dict& options,
                    const nb::object& progress, const nb::object& on_done) {
  auto state = std::make_shared<CallState>();
  EvaluationRequest request{task_of(task), candidate_of(candidate), options_of(options)};
  auto work = std::make_unique<Evaluating>(*state, judge, std::move(request), progress);
  return {std::move(state), std::move(work), on_done};
}

Call start_describe(const nb::object& judge, const nb::dict& task, const nb::dict& options, const nb::object& on_done) {
  auto state = std::make_shared<CallState>();
  auto work = std::make_unique<Describing>(*state, judge, task_of(task), options_of(options));
  return {std::move(state), std::move(work), on_done};
}

}  // namespace

void bind_judge(nb::module_& module) {
  nb::class_<NativeJudge>(module, "NativeJudge").def("close", &NativeJudge::close);
  nb::class_<StopToken>(module, "StopToken", "Tells a callback that its call is to stop.")
      .def_prop_ro("stop_requested", &StopToken::stop_requested, "Whether the call is to stop.")
      .def("wait", &StopToken::wait, nb::arg("seconds"),
           "Waits until the call is to stop, at most so many seconds. True if it is to stop.");
  nb::class_<StopSource>(module, "StopSource", "Stops the calls that got its token, from any thread.")
      .def(nb::init<>())
      .def_prop_ro("token", &StopSource::token, "What calls take as `stop`.")
      .def("request_stop", &StopSource::request_stop, "Stops them, now and later. They raise Cancelled soon after.");
  nb::class_<Call>(module, "Call")
      .def("wait", &Call::wait)
      .def("result", &Call::result)
      .def("follow", &Call::follow, nb::arg("token"))
      .def("cancel", &Call::cancel)
      .def_prop_ro("is_done", &Call::is_done);
  module.def("open_judge", &open_judge, nb::arg("python"), nb::arg("cache_dir"), nb::arg("prefix"),
             nb::arg("launch_prefix"), nb::arg("compilers"));
  module.def("fake_judge", &fake_judge, nb::arg("record"));
  module.def("start_evaluate", &start_evaluate, nb::arg("judge"), nb::arg("task"), nb::arg("candidate"),
             nb::arg("options"), nb::arg("progress").none(), nb::arg("on_done").none());
  module.def("start_describe", &start_describe, nb::arg("judge"), nb::arg("task"), nb::arg("options"),
             nb::arg("on_done").none());
  module.def("stop_all_calls", &stop_all_calls);
  module.def("forget_calls_after_fork", &forget_calls_after_fork);
  module.def("running_calls", &running_calls);
}

}  // namespace kernelgen_python
