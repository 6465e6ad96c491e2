#include "bench/evaluator.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <filesystem>

#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/core/version.hpp>
#include <kernelgen/device/cpu.hpp>

#include "bench/device_gate.hpp"
#include "bench/evaluation.hpp"
#include "bench/judge_pool.hpp"
#include "bench/runner_pool.hpp"
#include "bench/shared_memory.hpp"
#include "compile/compiler_table.hpp"
#include "support/clock.hpp"
#include "support/random_id.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// What judges and runners both get, so that the reference and the candidate are timed under the same rules.
std::map<std::string, std::string> with_equal_terms(std::map<std::string, std::string> environment) {
  // libgomp's threads spin for milliseconds after their work and would disturb whoever runs next. A short spin stays:
  // without it every barrier costs a wake-up.
  environment.try_emplace("OMP_WAIT_POLICY", "passive");
  environment.try_emplace("GOMP_SPINCOUNT", "2000");
  // glibc adapts these to what a process happened to free before: then one side pays for page faults in every call
  // and the other does not.
  environment.try_emplace("GLIBC_TUNABLES",
                          "glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=1073741824");
  return environment;
}

std::string system_line() {
  utsname name{};
  return ::uname(&name) == 0 ? fmt::format("{} {} {}", name.sysname, name.release, name.machine) : "unknown";
}

class Evaluator final : public LocalBenchmarker {
 public:
  Evaluator(const WorkerOptions& options, CpuFacts cpu) : options_(options), cpu_(std::move(cpu)) {}

  Result<void> start() {
    const auto environment = with_equal_terms(options_.environment);
    memory_ = make_shared_memory_source();
    gate_ = make_cpu_gate(options_.device_lock);
    processes_ = make_process_runner();
    KERNELGEN_TRY(judges_, make_judge_pool({.installation = options_.installation,
                                            .python = options_.python,
                                            .environment = environment,
                                            .cache_dir = options_.cache_dir},
                                           *memory_, *gate_));
    runners_ = make_runner_pool(
        {.installation = options_.installation, .python = options_.python, .environment = environment});
    return make_compilers();
  }

  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback& progress,
                                    std::stop_token stop) override {
    auto resolved = request;
    resolve_threads(resolved.options);
    EvaluationRecord record;
    record.id = random_id();
    record.started = utc_now_iso8601(std::chrono::system_clock::now);
    record.task_name = request.task.name;
    record.task_content_id = request.task.content_id;
    record.candidate_id = request.candidate.id;
    record.target = request.candidate.target;
    record.precision = request.options.precision;
    KERNELGEN_TRY(record.environment, judges_->environment(stop));
    record.environment.kernelgen_version = version();
    record.environment.device = cpu_.to_line();
    record.environment.system = system_line();
    record.environment.threads = resolved.options.threads;
    return evaluate_candidate(resolved, std::move(record),
                              {.judges = *judges_,
                               .compiler = *compiler_,
                               .runners = *runners_,
                               .gate = *gate_,
                               .memory = *memory_,
                               .now = std::chrono::steady_clock::now,
                               .waiting = [] { return read_cpu_waiting(); }},
                              progress, std::move(stop));
  }

  Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions& options,
                                   std::stop_token stop) override {
    auto resolved = options;
    resolve_threads(resolved);
    KERNELGEN_TRY(auto session, judges_->open(judge_task(task, resolved), stop));
    auto description = session->description;
    description.labels = session->admission.labels;
    return description;
  }

  std::string device() const override { return cpu_.to_line(); }

  Result<void> check_able(std::stop_token stop) override {
    KERNELGEN_CHECK(judges_->environment(std::move(stop)));
    return {};
  }

 private:
  Result<void> make_compilers() {
    // One store: what the compilers publish there is what the cache hands out.
    const std::string store = (std::filesystem::path(options_.cache_dir) / "artifacts").string();
    KERNELGEN_TRY(auto cpp, make_cpp_compiler({.compiler = options_.compiler,
                                               .abi_dir = options_.installation.abi_dir.string(),
                                               .output_dir = store,
                                               .sandbox = options_.installation.sandbox.string(),
                                               .environment = options_.environment},
                                              *processes_));
    KERNELGEN_TRY(auto cached, make_caching_compiler(std::move(cpp), {.directory = store}));
    std::vector<std::unique_ptr<KernelCompiler>> compilers;
    compilers.push_back(std::move(cached));
    compilers.push_back(make_python_publisher(store));
    compiler_ = make_compiler_table(std::move(compilers));
    return {};
  }

  void resolve_threads(EvaluationOptions& options) const {
    if (options.threads <= 0) options.threads = cpu_.usable_cores;
  }

  WorkerOptions options_;
  CpuFacts cpu_;
  std::unique_ptr<SharedMemorySource> memory_;
  std::unique_ptr<DeviceGate> gate_;
  std::unique_ptr<ProcessRunner> processes_;
  std::unique_ptr<JudgePool> judges_;
  std::unique_ptr<RunnerSource> runners_;
  std::unique_ptr<KernelCompiler> compiler_;
};

}  // namespace

Result<std::unique_ptr<LocalBenchmarker>> make_local_benchmarker(const WorkerOptions& options) {
  KERNELGEN_TRY(auto cpu, read_cpu_facts());
  auto evaluator = std::make_unique<Evaluator>(options, std::move(cpu));
  KERNELGEN_CHECK(evaluator->start());
  return std::unique_ptr<LocalBenchmarker>(std::move(evaluator));
}

}  // namespace v0
}  // namespace kernelgen
