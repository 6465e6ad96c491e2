#include <kernelgen/bench/doctor.hpp>

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "bench/gpu_findings.hpp"
#include "compile/clang_search.hpp"
#include "compile/cuda_toolkit.hpp"
#include "compile/hipcc.hpp"
#include "core/names.hpp"
#include "device/memory_group.hpp"
#include "exec/sandbox.hpp"
#include "profile/ncu_command.hpp"
#include "profile/rocprof_command.hpp"
#include "profile/sanitizers.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"
#include "support/units.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr auto k_status_names = make_names<DoctorStatus>({
    {DoctorStatus::Ok, "ok"},
    {DoctorStatus::Limited, "limited"},
    {DoctorStatus::Missing, "missing"},
});

// With less memory an ordinary evaluation is likely to fail: torch takes half a GiB in each of two processes.
constexpr double k_least_memory_gib = 4;
/// The limit of a control group that is made to see whether it can be.
constexpr std::uint64_t k_probed_bytes = std::uint64_t{1} << 30;
constexpr double k_least_shared_memory_gib = 1;

constexpr const char* k_rebuild = "build it again (cmake --build), or install it again (cmake --install)";

/// The path of tools/setup.sh if this is a build tree inside the sources; else empty.
std::string find_setup_script(const Result<Installation>& installation) {
  if (!installation) return {};
  const auto script = installation->worker.parent_path().parent_path().parent_path() / "tools/setup.sh";
  std::error_code ignored;
  return std::filesystem::exists(script, ignored) ? script.string() : std::string();
}

// One process answers everything about Python: importing torch takes seconds. Each line is "name value".
constexpr const char* k_python_probe = R"(
import sys
sys.path[:] = [entry for entry in sys.path if entry]  # a torch.py in this directory is not torch
print("python", ".".join(map(str, sys.version_info[:3])), flush=True)
for name in ("torch", "triton"):
    try:
        print(name, __import__(name).__version__, flush=True)
    except BaseException as error:
        print(name, "!" + (str(error) or type(error).__name__).splitlines()[0], flush=True)
if "torch" in sys.modules:
    for name in ("cuda", "hip"):
        if getattr(sys.modules["torch"].version, name, None):
            print("torch_" + name, getattr(sys.modules["torch"].version, name), flush=True)
)";

/// {3, 11} for "3.11.7"; zeros for a text that is no version.
std::pair<int, int> major_minor(std::string_view version) {
  const auto parts = split(version, '.');
  const auto number = [&](std::size_t i) {
    int value = 0;
    if (i < parts.size())
      for (const char digit : parts[i].substr(0, 6)) {
        if (digit < '0' || digit > '9') break;
        value = value * 10 + (digit - '0');
      }
    return value;
  };
  return {number(0), number(1)};
}

class Examination {
 public:
  Examination(const DoctorOptions& options, ProcessRunner& runner, std::stop_token stop)
      : options_(options), runner_(runner), stop_(std::move(stop)) {}

  Result<std::vector<DoctorFinding>> run() {
    examine_installation();
    KERNELGEN_CHECK(examine_compiler());
    KERNELGEN_CHECK(examine_gpus());
    KERNELGEN_CHECK(examine_hip_on_cpu());
    KERNELGEN_CHECK(examine_python());
    KERNELGEN_CHECK(examine_isolation());
    KERNELGEN_CHECK(examine_sanitizers());
    examine_cores_and_memory();
    examine_shared_memory();
    examine_cache();
    examine_kernelbench();
    return std::move(findings_);
  }

 private:
  void add(std::string name, DoctorStatus status, std::string_view detail, std::string remedy = {}) {
    findings_.push_back({std::move(name), status, sanitize_line(detail, 400), std::move(remedy)});
  }

  /// Runs a command. Failures are part of the outcome; only cancellation is an Error.
  Result<ProcessOutcome> start(std::vector<std::string> command, std::chrono::milliseconds timeout) {
    ProcessRequest request;
    request.command = std::move(command);
    request.environment = options_.environment;
    request.timeout = timeout;
    auto outcome = runner_.run(request, stop_);
    if (outcome || outcome.error().code == ErrorCode::Cancelled) return outcome;
    ProcessOutcome failed;
    failed.standard_error = outcome.error().message;
    return failed;
  }

  static std::string last_error_line(const ProcessOutcome& outcome) {
    const auto said = trim(outcome.standard_error);
    return said.empty() ? outcome.to_line() : std::string(split_lines(said).back());
  }

  void examine_installation() {
    if (options_.installation)
      add("installation", DoctorStatus::Ok, options_.installation->worker.parent_path().parent_path().string());
    else
      add("installation", DoctorStatus::Missing, options_.installation.error().message, k_rebuild);
  }

  Result<void> examine_compiler() {
    KERNELGEN_TRY(const auto outcome, start({options_.compiler, "--version"}, std::chrono::seconds(10)));
    const auto lines = split_lines(outcome.standard_output);
    if (outcome.success() && !lines.empty())
      add("compiler", DoctorStatus::Ok, std::string(lines.front()));
    else
      add("compiler", DoctorStatus::Missing, options_.compiler + ": " + last_error_line(outcome),
          "sudo apt-get install g++");
    return {};
  }

  Result<void> examine_gpus() {
    if (!options_.installation) return {};
    gpus_.reading = read_gpus(probe_options(), {}, runner_, stop_);
    if (!gpus_.reading && gpus_.reading.error().code == ErrorCode::Cancelled) return gpus_.reading.error();
    gpus_.cards = cards_on_bus(options_.root);
    if (!gpus_.cards.empty()) gpus_.card_problem = gpus_.cards.front()->find_node_problem(options_.root);
    gpus_.nvcc = find_nvcc(options_.nvcc, options_.environment);
    if (gpus_.nvcc) {
      KERNELGEN_TRY(const auto version, start({*gpus_.nvcc, "--version"}, std::chrono::seconds(10)));
      gpus_.nvcc_release = parse_cuda_release(version.standard_output);
    }
    KERNELGEN_CHECK(ask_hipcc());
    look_for_profilers();
    const auto* gpu = first_gpu(gpus_);
    if (gpu != nullptr && !platform_of(gpu->vendor).process_list.empty()) {
      KERNELGEN_TRY(const auto used, start(platform_of(gpu->vendor).process_list, std::chrono::seconds(20)));
      if (used.success()) gpus_.processes = used.standard_output;
    }
    for (auto& finding : gpu_findings(gpus_))
      add(std::move(finding.name), finding.status, finding.detail, std::move(finding.remedy));
    return examine_memory_sharing();
  }

  /// Tries on each GPU how a judge and a sandboxed runner share its memory.
  Result<void> examine_memory_sharing() {
    if (first_gpu(gpus_) == nullptr) return {};
    std::vector<std::string> ways;
    for (const auto& gpu : gpus_.reading->gpus) {
      const auto way = find_memory_sharing(gpu, probe_options(), runner_, stop_);
      if (!way && way.error().code == ErrorCode::Cancelled) return way.error();
      if (!way) {
        add("GPU memory", DoctorStatus::Missing, way.error().message);
        return {};
      }
      ways.push_back(fmt::format("GPU {}: {}", gpu.index,
                                 way->empty() ? "not tried, because it has no memory free now" : "shared by " + *way));
    }
    add("GPU memory", DoctorStatus::Ok, join(ways, "; "));
    return {};
  }

  [[nodiscard]] GpuProbeOptions probe_options() const {
    return {.program = options_.installation->gpu_probe,
            .environment = options_.environment,
            .cache_dir = {},
            .root = options_.root};
  }

  /// HIP kernels are judged on the processor, too, and clang takes more of them than g++.
  Result<void> examine_hip_on_cpu() {
    KERNELGEN_TRY(const auto clang, ClangSearch(options_.environment, runner_).find(stop_));
    if (clang)
      add("hip on the CPU", DoctorStatus::Ok, *clang);
    else
      add("hip on the CPU", DoctorStatus::Limited,
          options_.compiler + " builds most hip candidates; those with vectors of clang need clang++ 15 or newer",
          "sudo apt-get install clang-15");
    return {};
  }

  /// Asks hipcc for its version, and whether it can compile for the first GPU that it is for.
  Result<void> ask_hipcc() {
    gpus_.hipcc = find_hipcc("", options_.environment);
    if (!gpus_.hipcc || !gpus_.reading) return {};
    for (const auto& gpu : gpus_.reading->gpus) {
      if (platform_of(gpu.vendor).compiler != DeviceCompiler::Hipcc) continue;
      KERNELGEN_TRY(const auto version, start({*gpus_.hipcc, "--version"}, std::chrono::seconds(20)));
      gpus_.hipcc_release = parse_rocm_release(version.standard_output);
      KERNELGEN_TRY(const auto checked, start(hipcc_check(*gpus_.hipcc, gpu.architecture), std::chrono::seconds(20)));
      gpus_.hipcc_problem = explain_hipcc(checked.standard_error, gpu.architecture);
      return {};
    }
    return {};
  }

  /// Looks for the profiler of each maker with a GPU here, and at what the GPUs do now.
  void look_for_profilers() {
    if (!gpus_.reading) return;
    for (const auto& gpu : gpus_.reading->gpus) {
      const auto& platform = platform_of(gpu.vendor);
      if (const auto use = platform.read_use(gpu.uuid, options_.root)) gpus_.uses[gpu.uuid] = *use;
      if (platform.counters == CounterProgram::None ||
          std::any_of(gpus_.profilers.begin(), gpus_.profilers.end(),
                      [&](const auto& one) { return one.platform == &platform; }))
        continue;
      const auto found = platform.counters == CounterProgram::Ncu ? locate_ncu("", options_.environment)
                                                                  : locate_rocprof("", options_.environment);
      FoundProfiler profiler{.platform = &platform, .counters = platform.find_counter_problem(options_.root)};
      if (found)
        profiler.program = *found;
      else
        profiler.program = Error{ErrorCode::MissingTool, found.error().reason};
      if (!found) profiler.remedy = found.error().remedy;
      gpus_.profilers.push_back(std::move(profiler));
    }
  }

  Result<void> examine_python() {
    KERNELGEN_TRY(const auto outcome, start({options_.python, "-s", "-c", k_python_probe}, std::chrono::seconds(120)));
    std::map<std::string, std::string, std::less<>> said;
    for (const auto line : split_lines(outcome.standard_output)) {
      const auto space = line.find(' ');
      if (space != line.npos) said.emplace(line.substr(0, space), line.substr(space + 1));
    }
    judge_python(said["python"], outcome);
    if (said["python"].empty()) return {};
    judge_torch({said["torch"], said["torch_cuda"], said["torch_hip"]}, outcome);
    judge_triton(said["triton"]);
    return {};
  }

  /// The command that installs torch; an installed kgen has no sources with a setup script.
  [[nodiscard]] std::string python_remedy() const {
    if (!setup_script_.empty()) return setup_script_;
    return "sudo apt-get install python3 python3-venv, or set KGEN_PYTHON to a Python 3.10 to 3.13";
  }

  [[nodiscard]] std::string torch_remedy() const {
    if (!setup_script_.empty()) return setup_script_ + ", or set KGEN_PYTHON to a Python that has torch";
    return options_.python +
           " -m venv ~/.kgen && ~/.kgen/bin/pip install torch triton && export KGEN_PYTHON=~/.kgen/bin/python";
  }

  void judge_python(const std::string& version, const ProcessOutcome& outcome) {
    const auto [major, minor] = major_minor(version);
    if (version.empty())
      add("python", DoctorStatus::Missing, options_.python + ": " + last_error_line(outcome), python_remedy());
    else if (major != 3 || minor < 10 || minor > 13)
      add("python", DoctorStatus::Missing, version + " (" + options_.python + "); 3.10 to 3.13 is needed",
          python_remedy());
    else
      add("python", DoctorStatus::Ok, version + " (" + options_.python + ')');
  }

  void judge_torch(const TorchBuild& torch, const ProcessOutcome& outcome) {
    const auto& version = torch.version;
    const auto [major, minor] = major_minor(version);
    const auto remedy = torch_remedy();
    if (version.empty())
      add("torch", DoctorStatus::Missing, "importing it ended Python: " + last_error_line(outcome), remedy);
    else if (version.front() == '!')
      add("torch", DoctorStatus::Missing, version.substr(1), remedy);
    else if (major < 2 || (major == 2 && minor < 4))
      add("torch", DoctorStatus::Missing, version + "; 2.4 or newer is needed", remedy);
    else if (auto wrong = torch_on_gpu(gpus_, torch, options_.python))
      add("torch", wrong->status, wrong->detail, wrong->remedy);
    else
      add("torch", DoctorStatus::Ok, version);
  }

  void judge_triton(const std::string& version) {
    if (version.empty() || version.front() == '!')
      add("triton", DoctorStatus::Limited, "not there; triton candidates cannot be judged",
          options_.python + " -m pip install triton");
    else
      add("triton", DoctorStatus::Ok,
          version + (first_gpu(gpus_) != nullptr ? "" : " (on a CPU under its interpreter: correctness only)"));
  }

  Result<void> examine_isolation() {
    if (!options_.installation) {
      add("isolation", DoctorStatus::Limited, "not known without the installation", k_rebuild);
      return {};
    }
    // The sandbox of runners and compilers, entered once to see which protections work.
    const std::string helper = options_.installation->sandbox.string();
    KERNELGEN_TRY(const auto outcome, start({helper, "--report", "-"}, std::chrono::seconds(10)));
    const auto isolation = outcome.success() ? parse_sandbox_report(outcome.standard_output, helper)
                                             : Error{ErrorCode::Unavailable, last_error_line(outcome), {}};
    if (isolation && *isolation == "full")
      add("isolation", DoctorStatus::Ok, "full: candidates and compilers run in namespaces of their own");
    else if (isolation && isolation->starts_with(k_weak_isolation))
      add("isolation", DoctorStatus::Limited,
          "a candidate could reach other processes, so there is no verdict unless weak isolation is allowed: " +
              *isolation,
          "sudo sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000");
    else
      add("isolation", DoctorStatus::Limited,
          "candidates and compilers share with this user what is named, and records say so: " +
              (isolation ? *isolation : isolation.error().message),
          "sudo sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000");
    return {};
  }

  /// The tools that watch correct candidates: the compiler's, and on a GPU those of compute-sanitizer.
  Result<void> examine_sanitizers() {
    if (!options_.installation) return {};
    const auto sanitizers = make_sanitizers({.installation = *options_.installation,
                                             .python = options_.python,
                                             .compiler = options_.compiler,
                                             .environment = options_.environment},
                                            runner_);
    auto tools = sanitizer_tools(Target::Cpp, nullptr);
    for (const auto* card : gpus_.cards)
      for (auto& tool : sanitizer_tools(Target::Torch, card))
        if (tool.kind == SanitizerKind::ComputeSanitizer) tools.push_back(std::move(tool));
    std::string names;
    for (const auto& tool : tools) {
      const auto installed = sanitizers->check_installed(tool, stop_);
      if (!installed && installed.error().code == ErrorCode::Cancelled) return installed.error();
      if (!installed) {
        add("sanitizers", DoctorStatus::Limited, "correct kernels cannot be watched: " + installed.error().message);
        return {};
      }
      names += (names.empty() ? "" : ", ") + tool.name;
    }
    add("sanitizers", DoctorStatus::Ok, names);
    return {};
  }

  void examine_cores_and_memory() {
    const auto cores = std::thread::hardware_concurrency();
    add("cores", cores > 1 ? DoctorStatus::Ok : DoctorStatus::Limited,
        std::to_string(cores) + (cores > 1 ? "" : "; the judge and a candidate will disturb each other"));
    const double memory = double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGE_SIZE)) / k_gib;
    add("memory", memory >= k_least_memory_gib ? DoctorStatus::Ok : DoctorStatus::Limited,
        fmt::format("{:.1f} GiB{}", memory, memory >= k_least_memory_gib ? "" : "; large tasks need smaller inputs"));
    const auto group = MemoryGroup::make(k_probed_bytes, options_.root);
    add("memory limit", group ? DoctorStatus::Ok : DoctorStatus::Limited,
        group ? "a control group limits all processes of a candidate together"
              : "each process of a candidate has a limit of its own, and files in memory have another: " +
                    group.error().message);
  }

  void examine_shared_memory() {
    struct statvfs space {};
    if (::statvfs("/dev/shm", &space) != 0) {
      add("shared memory", DoctorStatus::Limited, "/dev/shm is not mounted", "sudo mount -t tmpfs tmpfs /dev/shm");
      return;
    }
    const double free = double(space.f_bavail) * double(space.f_frsize) / k_gib;
    const bool enough = free >= k_least_shared_memory_gib;
    add("shared memory", enough ? DoctorStatus::Ok : DoctorStatus::Limited,
        fmt::format("{:.1f} GiB free in /dev/shm", free), enough ? "" : "sudo mount -o remount,size=50% /dev/shm");
  }

  void examine_cache() {
    auto made = make_directories(options_.cache_dir);
    auto probe = made ? TemporaryDirectory::create(options_.cache_dir, "doctor-") : std::move(made).error();
    if (probe)
      add("cache", DoctorStatus::Ok, options_.cache_dir);
    else
      add("cache", DoctorStatus::Missing, probe.error().message, "choose a cache directory that you may write");
  }

  void examine_kernelbench() {
    std::error_code ignored;
    if (options_.kernelbench_dir.empty())
      add("KernelBench", DoctorStatus::Limited, "KERNELBENCH_DIR is not set; tasks are found by path only",
          "git clone https://github.com/ScalingIntelligence/KernelBench && export KERNELBENCH_DIR=$PWD/KernelBench");
    else if (!std::filesystem::is_directory(options_.kernelbench_dir, ignored))
      add("KernelBench", DoctorStatus::Limited, options_.kernelbench_dir + " is not a directory",
          "git clone https://github.com/ScalingIntelligence/KernelBench " + options_.kernelbench_dir);
    else
      add("KernelBench", DoctorStatus::Ok, options_.kernelbench_dir);
  }

  const DoctorOptions& options_;
  const std::string setup_script_ = find_setup_script(options_.installation);
  ProcessRunner& runner_;
  std::stop_token stop_;
  GpuEnvironment gpus_;
  std::vector<DoctorFinding> findings_;
};

}  // namespace

std::string_view to_string(DoctorStatus status) { return k_status_names.name(status); }

Result<std::vector<DoctorFinding>> examine_machine(const DoctorOptions& options, ProcessRunner& runner,
                                                   std::stop_token stop) {
  return Examination(options, runner, std::move(stop)).run();
}

}  // namespace v0
}  // namespace kernelgen
