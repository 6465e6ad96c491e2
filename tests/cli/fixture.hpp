#pragma once

/// \file
/// A fixture that runs kgen's commands with fake services.

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <kernelgen/bench/fake_benchmarker.hpp>
#include <kernelgen/llm/scripted_client.hpp>

#include "commands.hpp"
#include "support/files.hpp"

namespace kernelgen::testing {

inline const std::string k_task = std::string(KERNELGEN_SOURCE_DIR) + "/examples/tasks/relu.py";

/// A ProcessRunner for which every program is missing.
class NoProcesses final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token stop) override {
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
    return Error{ErrorCode::MissingTool, request.command.front() + " is not installed"};
  }
};

/// Forwards to a benchmarker that outlives the command, so that a test can inspect it afterwards.
class Lent final : public Benchmarker {
 public:
  explicit Lent(Benchmarker& inner) : inner_(inner) {}
  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback& progress,
                                    std::stop_token stop) override {
    return inner_.evaluate(request, progress, std::move(stop));
  }
  Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions& options,
                                   std::stop_token stop) override {
    return inner_.describe(task, options, std::move(stop));
  }

 private:
  Benchmarker& inner_;
};

/// Runs kgen with fake services.
class Fixture {
 public:
  Fixture() {
    std::ofstream(path("kernel.cpp")) << "// a kernel\n";
    environment.cache_dir = path("cache");
  }

  [[nodiscard]] std::string path(const std::string& name) const { return (directory_.path() / name).string(); }

  int run(std::vector<std::string> arguments) {
    benchmarker = std::make_unique<FakeBenchmarker>([this](const EvaluationRequest& request) {
      if (while_judging) while_judging();
      return judge ? judge(request) : answer;
    });
    cli::Context context{
        .environment = environment,
        .out = out,
        .err = err,
        .out_terminal = {},
        .err_terminal = {},
        .make_benchmarker = [this](WorkerBenchmarkerOptions options) -> Result<std::unique_ptr<Benchmarker>> {
          worker_options = std::move(options);
          return std::unique_ptr<Benchmarker>(std::make_unique<Lent>(*benchmarker));
        },
        .find_installation =
            [] {
              Installation installation;
              installation.prompts_dir = std::string(KERNELGEN_SOURCE_DIR) + "/lib/prompt/templates";
              installation.devices_dir = std::string(KERNELGEN_SOURCE_DIR) + "/lib/device/data";
              installation.python_dir = std::string(KERNELGEN_SOURCE_DIR) + "/lib/python";
              installation.selftest_dir = std::string(KERNELGEN_SOURCE_DIR) + "/tests";
              installation.report_dir = std::string(KERNELGEN_SOURCE_DIR) + "/lib/report/html";
              return Result<Installation>(installation);
            },
        .make_llm = [this](std::string_view spec, Waiting waiting, ReplayMode) -> Result<std::unique_ptr<LLMClient>> {
          llm_spec = spec;
          llm_waiting = waiting;
          return std::unique_ptr<LLMClient>(std::make_unique<ScriptedLLMClient>(model));
        },
        .find_providers = [] { return Result<std::vector<Provider>>(known_providers()); },
        .is_set = [this](const std::string& variable) { return set_variables.count(variable) > 0; },
        .processes = processes == nullptr ? processes_ : *processes,
        .stop = stop.get_token()};
    return cli::run_kgen(arguments, context);
  }

  int eval(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"eval", "--code", path("kernel.cpp"), "--problem", k_task};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }

  Result<EvaluationRecord> answer = EvaluationRecord{};
  std::function<void()> while_judging;
  cli::Environment environment;
  std::stop_source stop;
  std::ostringstream out;
  std::ostringstream err;
  std::unique_ptr<FakeBenchmarker> benchmarker;
  WorkerBenchmarkerOptions worker_options;
  /// Replaces `answer` if set.
  std::function<Result<EvaluationRecord>(const EvaluationRequest&)> judge;
  ScriptedLLMClient::Answer model = [](const LLMRequest&) { return ScriptedLLMClient::reply("no code"); };
  std::string llm_spec;
  std::set<std::string> set_variables;
  Waiting llm_waiting = Waiting::Wait;
  /// The runner of programs; nullptr: every program is missing.
  ProcessRunner* processes = nullptr;

 private:
  TemporaryDirectory directory_ = TemporaryDirectory::create(std::filesystem::temp_directory_path(), "kgen-").value();
  NoProcesses processes_;
};

/// The descriptions of all commands, and the context that they borrow.
struct DescribedCommands {
  cli::Environment environment{};
  std::ostringstream out{}, err{};
  NoProcesses processes{};
  cli::Context context{.environment = environment,
                       .out = out,
                       .err = err,
                       .out_terminal = {},
                       .err_terminal = {},
                       .make_benchmarker = {},
                       .find_installation = {},
                       .make_llm = {},
                       .find_providers = {},
                       .is_set = {},
                       .processes = processes,
                       .stop = {}};
  std::vector<cli::Command> commands = cli::make_commands(context);
};

inline EvaluationRecord correct_record(double speedup) {
  EvaluationRecord record;
  record.timing.emplace().speedup_call = {speedup, speedup, speedup};
  return record;
}

}  // namespace kernelgen::testing
