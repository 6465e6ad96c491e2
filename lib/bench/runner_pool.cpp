#include "bench/runner_pool.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <kernelgen/platform/platform.hpp>

#include "bench/cupti.hpp"
#include "bench/runner_process.hpp"
#include "device/gpu_json.hpp"
#include "exec/child.hpp"
#include "exec/zygote.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds k_start_timeout{30'000};
/// torch may be imported from a cold disk or a network file system.
constexpr int k_control_in_child = 3;
constexpr int k_status_in_child = 4;

class RunnerPool final : public RunnerSource {
 public:
  explicit RunnerPool(RunnerPoolOptions options) : options_(std::move(options)) {}

  void prestart(RunnerKind kind) override {
    if (kind == RunnerKind::Native) return;
    // If it cannot start, take() tries again and reports the reason.
    [[maybe_unused]] const auto zygote = zygote_of(kind);
  }

  BuildAhead build_ahead(const BuildJob& job, const StepLimits& limits, std::stop_token stop) override {
    if (!keeps_builds() || BuildCache::is_kept(options_.builds_dir, job.builds_key)) return BuildAhead::Done;
    auto started = start(RunnerKind::Python, Role::Builder, stop);
    if (!started) return BuildAhead::Done;
    const auto builder = *std::move(started);
    if (!builder->wait_ready(k_start_timeout)) return BuildAhead::Done;
    builder->cancel_with(std::move(stop));
    const auto answer = builder->build(job, limits);
    const auto* death = std::get_if<RunnerDeath>(&answer);
    return death != nullptr && death->was_building ? BuildAhead::TimedOut : BuildAhead::Done;
  }

  Result<RunnerAnswer> compile_for(const CompileForJob& job, const StepLimits& limits, std::stop_token stop) override {
    if (!keeps_builds())
      return Error{ErrorCode::InvalidArgument, "there is no directory for what a candidate compiles"};
    KERNELGEN_TRY(const auto builder, start(RunnerKind::Python, Role::Builder, stop));
    KERNELGEN_CHECK(builder->wait_ready(k_start_timeout));
    builder->cancel_with(std::move(stop));
    return builder->compile_for(job, limits);
  }

  Result<std::unique_ptr<Runner>> take(RunnerKind kind, std::stop_token stop) override {
    auto runner = take_standby(kind);
    const bool stood_by = runner != nullptr;
    if (!runner) {
      KERNELGEN_TRY(runner, start(kind, Role::Runner, stop));
    }
    // The next runner starts while this one loads its candidate. If it cannot start, the next take() reports why.
    if (auto next = start(kind, Role::Runner, stop)) keep_standby(kind, *std::move(next));
    auto ready = runner->wait_ready(k_start_timeout);
    if (!ready && stood_by) {
      // It was started while another candidate ran, so memory may have been short.
      KERNELGEN_TRY(runner, start(kind, Role::Runner, stop));
      ready = runner->wait_ready(k_start_timeout);
    }
    KERNELGEN_CHECK(std::move(ready));
    runner->cancel_with(std::move(stop));
    return std::unique_ptr<Runner>(std::move(runner));
  }

 private:
  enum class Role { Runner, Builder };

  /// The runner that stands by, if it lives.
  std::unique_ptr<RunnerProcess> take_standby(RunnerKind kind) {
    const std::scoped_lock lock(mutex_);
    auto standby = std::exchange(standby_[static_cast<std::size_t>(kind)], nullptr);
    return standby && standby->alive() ? std::move(standby) : nullptr;
  }

  void keep_standby(RunnerKind kind, std::unique_ptr<RunnerProcess> runner) {
    const std::scoped_lock lock(mutex_);
    // The one that was there ends without the mutex, with this parameter.
    std::swap(standby_[static_cast<std::size_t>(kind)], runner);
  }

  /// True if candidates' builds are cached.
  [[nodiscard]] bool keeps_builds() const { return !options_.builds_dir.empty(); }

  Result<std::unique_ptr<RunnerProcess>> start(RunnerKind kind, Role role, const std::stop_token& stop) {
    KERNELGEN_TRY(auto ends, make_runner_sockets());
    if (kind == RunnerKind::Native) {
      auto runner = make_runner_process(std::move(ends.ours));
      KERNELGEN_CHECK(start_native(ends));
      return runner;
    }
    std::unique_ptr<BuildCache> builds;
    if (keeps_builds()) {
      KERNELGEN_TRY(builds, BuildCache::make(options_.builds_dir));
    }
    const ForkOptions fork{.builds = builds ? builds->path().string() : std::string(),
                           .builder = role == Role::Builder};
    auto runner = make_runner_process(std::move(ends.ours), std::move(builds));
    KERNELGEN_CHECK(fork_python(kind, ends, fork, stop));
    return runner;
  }

  /// What both kinds of runner are told about their device.
  [[nodiscard]] std::vector<std::string> gpu_arguments() const {
    if (!options_.gpu) return {};
    const auto& platform = platform_of(options_.gpu->vendor);
    std::vector<std::string> arguments{"--gpu", options_.gpu->uuid};
    if (!platform.choosing_variable.empty())
      arguments.insert(arguments.end(), {"--gpu-variable", platform.choosing_variable});
    for (const auto& node : platform.device_nodes(options_.gpu->uuid, "/"))
      arguments.insert(arguments.end(), {"--gpu-node", node});
    return arguments;
  }

  Result<void> start_native(const RunnerSockets& ends) const {
    ChildRequest request;
    request.command = {options_.installation.native_runner.string(), "--control", std::to_string(k_control_in_child),
                       "--status", std::to_string(k_status_in_child)};
    const auto gpu = gpu_arguments();
    request.command.insert(request.command.end(), gpu.begin(), gpu.end());
    if (options_.gpu && platform_of(options_.gpu->vendor).has_cupti)
      if (const auto cupti = find_cupti(options_.python, options_.environment); !cupti.empty())
        request.command.insert(request.command.end(), {"--cupti", cupti.string()});
    request.environment = options_.environment;
    if (options_.emulator) {
      // Below the private /tmp of the sandbox.
      request.environment = emulated_environment(options_.environment, *options_.emulator, "/tmp/emulator");
      request.command.insert(request.command.end(), {"--emulator", options_.emulator->config, "--show",
                                                     options_.emulator->config, "--show", options_.emulator->library});
    }
    request.working_directory = "/";
    request.parent_death = ParentDeath::Ignore;
    KERNELGEN_TRY(auto process, ChildProcess::spawn(request, {{ends.control.get(), k_control_in_child},
                                                              {ends.status.get(), k_status_in_child}}));
    // The program forks the supervisor, which leaves its process group, and ends.
    if (!process.wait(std::chrono::steady_clock::now() + k_start_timeout))
      return Error{ErrorCode::Unavailable, "a runner did not start in time"};
    return {};
  }

  Result<void> fork_python(RunnerKind kind, const RunnerSockets& ends, const ForkOptions& options,
                           const std::stop_token& stop) {
    const std::array<int, 2> fds{ends.control.get(), ends.status.get()};
    // A zygote that died since it was started is replaced once.
    for (const bool last_try : {false, true}) {
      KERNELGEN_TRY(const auto zygote, zygote_of(kind));
      // It may import for minutes, and runners of other kinds do not wait for that.
      auto ready = zygote->wait_ready(k_import_timeout, stop);
      if (ready && zygote->fork(fds, options)) return {};
      // Others may still wait for it.
      if (!ready && ready.error().code == ErrorCode::Cancelled) return std::move(ready).error();
      forget(kind, zygote);
      if (!ready && last_try) return std::move(ready).error();
    }
    return Error{ErrorCode::Unavailable, "the Python runner's zygote cannot fork"};
  }

  /// The zygote of a kind of runner, started if there is none.
  Result<std::shared_ptr<Zygote>> zygote_of(RunnerKind kind) {
    const std::scoped_lock lock(mutex_);
    auto& zygote = zygotes_[static_cast<std::size_t>(kind)];
    if (!zygote) {
      KERNELGEN_TRY(zygote, start_zygote(kind));
    }
    return zygote;
  }

  /// Has the next runner of a kind start a zygote anew.
  void forget(RunnerKind kind, const std::shared_ptr<Zygote>& zygote) {
    const std::scoped_lock lock(mutex_);
    auto& kept = zygotes_[static_cast<std::size_t>(kind)];
    if (kept == zygote) kept.reset();
  }

  Result<std::unique_ptr<Zygote>> start_zygote(RunnerKind kind) const {
    ZygoteOptions zygote{.python = options_.python,
                         .python_dir = options_.installation.python_dir.string(),
                         .module = "kernelgen_runner",
                         .arguments = {"--support", options_.installation.runner_support.string()},
                         .environment = options_.environment};
    // torch.compile would keep a pool of compiling processes, and processes that outlive a call count as cheating.
    zygote.environment["TORCHINDUCTOR_COMPILE_THREADS"] = "1";
    // Precompiled headers, of 150 MB, lie outside the directory of its builds: each runner would compile them again.
    zygote.environment["TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS"] = "0";
    const auto gpu = gpu_arguments();
    zygote.arguments.insert(zygote.arguments.end(), gpu.begin(), gpu.end());
    if (options_.gpu)
      zygote.arguments.insert(zygote.arguments.end(), {"--gpu-vendor", options_.gpu->vendor, "--gpu-facts",
                                                       json::serialize(to_value(*options_.gpu))});
    if (kind == RunnerKind::PythonInterpreter) zygote.arguments.push_back("--interpreter");
    return Zygote::start(std::move(zygote));
  }

  RunnerPoolOptions options_;
  /// Guards the members below, and is held for moments only.
  std::mutex mutex_;
  std::array<std::shared_ptr<Zygote>, 3> zygotes_;
  std::array<std::unique_ptr<RunnerProcess>, 3> standby_;
};

}  // namespace

std::unique_ptr<RunnerSource> make_runner_pool(RunnerPoolOptions options) {
  return std::make_unique<RunnerPool>(std::move(options));
}

}  // namespace v0
}  // namespace kernelgen
