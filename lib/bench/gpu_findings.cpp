#include "bench/gpu_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <vector>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using Release = std::pair<int, int>;

const GpuFacts* first_gpu_for(const GpuEnvironment& situation, DeviceCompiler compiler) {
  if (!situation.reading) return nullptr;
  for (const auto& gpu : situation.reading->gpus)
    if (platform_of(gpu.vendor).compiler == compiler) return &gpu;
  return nullptr;
}

/// "8 x NVIDIA H200 (sm_90), 132 SMs, 140 GiB", each kind once.
std::string list_of(const GpuInventory& reading) {
  std::vector<std::string> lines;
  for (const auto& gpu : reading.gpus) lines.push_back(gpu.to_line());
  std::string text;
  for (auto line = lines.begin(); line != lines.end(); ++line) {
    if (std::find(lines.begin(), line, *line) != line) continue;
    const auto count = std::count(line, lines.end(), *line);
    text += (text.empty() ? "" : "; ") + (count > 1 ? fmt::format("{} x ", count) : "") + *line;
  }
  return text;
}

DoctorFinding device_finding(const GpuEnvironment& situation) {
  if (!situation.reading) {
    const auto& lister = situation.cards.empty() ? std::vector<std::string>{} : situation.cards.front()->process_list;
    return {"GPU", DoctorStatus::Limited, sanitize_line(situation.reading.error().to_line(), 300),
            lister.empty() ? std::string() : lister.front()};
  }
  const auto& reading = *situation.reading;
  if (reading.gpus.empty() && !situation.cards.empty()) {
    const auto& platform = *situation.cards.front();
    const auto& problem = situation.card_problem;
    return {"GPU", DoctorStatus::Limited,
            fmt::format("there is an {} card, but {}", platform.maker,
                        problem ? problem->what : sanitize_line(reading.reason, 300)),
            problem ? problem->remedy : platform.driver_remedy};
  }
  if (reading.gpus.empty())
    return {"GPU", DoctorStatus::Ok, "none; cpp, torch and triton kernels are judged on the processor", ""};
  const auto& first = reading.gpus.front();
  const auto [major, minor] = driver_release(first);
  return {"GPU", DoctorStatus::Ok,
          sanitize_line(
              fmt::format("{}; driver for {} {}.{}", list_of(reading), platform_of(first.vendor).toolkit, major, minor),
              300),
          ""};
}

/// A finding for each card without a GPU, beside the GPUs that there are.
std::vector<DoctorFinding> absent_findings(const GpuEnvironment& situation) {
  std::vector<DoctorFinding> findings;
  if (!situation.reading || situation.reading->gpus.empty()) return findings;
  for (const auto& [vendor, why] : situation.reading->absent)
    findings.push_back({"GPU", DoctorStatus::Limited, sanitize_line(why, 300), platform_of(vendor).driver_remedy});
  return findings;
}

/// The finding about nvcc; nothing on a machine without a use for it.
std::optional<DoctorFinding> nvcc_finding(const GpuEnvironment& situation) {
  const auto* gpu = first_gpu_for(situation, DeviceCompiler::Nvcc);
  const Release driver = gpu == nullptr ? Release{} : driver_release(*gpu);
  if (!situation.nvcc) {
    if (gpu == nullptr) return std::nullopt;
    return DoctorFinding{"nvcc", DoctorStatus::Limited,
                         "not there; cuda kernels cannot be compiled, triton and torch kernels can",
                         platform_of(gpu->vendor).compiler_remedy};
  }
  const auto& [major, minor] = situation.nvcc_release;
  if (major == 0)
    return DoctorFinding{"nvcc", DoctorStatus::Limited, *situation.nvcc + " does not say its version",
                         "set CUDA_HOME to a CUDA toolkit"};
  const auto found = fmt::format("{}.{} ({})", major, minor, *situation.nvcc);
  // Drivers serve every toolkit of their major version, and older ones.
  if (gpu != nullptr && major > driver.first)
    return DoctorFinding{
        "nvcc", DoctorStatus::Limited,
        fmt::format("{}: newer than the driver, which is for CUDA {}.{}; its kernels will not start", found,
                    driver.first, driver.second),
        fmt::format("install a driver for CUDA {}, or set CUDA_HOME to a CUDA {} toolkit", major, driver.first)};
  return DoctorFinding{"nvcc", DoctorStatus::Ok, found, ""};
}

/// The finding about hipcc; nothing on a machine without a use for it.
std::optional<DoctorFinding> hipcc_finding(const GpuEnvironment& situation) {
  const auto* gpu = first_gpu_for(situation, DeviceCompiler::Hipcc);
  if (gpu == nullptr) return std::nullopt;
  const auto limited = [](std::string detail, std::string remedy) {
    return DoctorFinding{"hipcc", DoctorStatus::Limited, std::move(detail), std::move(remedy)};
  };
  if (!situation.hipcc)
    return limited("not there, and no amdclang++; hip kernels cannot be compiled, triton and torch kernels can",
                   platform_of(gpu->vendor).compiler_remedy);
  const auto& [major, minor] = situation.hipcc_release;
  const auto found = major == 0 ? *situation.hipcc : fmt::format("{}.{} ({})", major, minor, *situation.hipcc);
  if (situation.hipcc_problem)
    return limited(fmt::format("{}: {}; hip kernels cannot be compiled", found, situation.hipcc_problem->what),
                   situation.hipcc_problem->remedy);
  const Release runtime = driver_release(*gpu);
  // Within a major version, kernels of one ROCm start with the runtime of another one. Their library has the major
  // version in its name: with another one, a kernel would bring a second runtime that does not know the device's state.
  if (major != 0 && runtime.first != 0 && major != runtime.first)
    return limited(
        fmt::format("{}: {} than the runtime (libamdhip64), which is of ROCm {}.{}; its kernels will not start", found,
                    major > runtime.first ? "newer" : "older", runtime.first, runtime.second),
        fmt::format("set ROCM_PATH to a ROCm {}, or install the runtime of ROCm {}", runtime.first, major));
  return DoctorFinding{"hipcc", DoctorStatus::Ok, found, ""};
}

/// The findings about what reads counters.
std::vector<DoctorFinding> profiler_findings(const GpuEnvironment& situation) {
  std::vector<DoctorFinding> findings;
  for (const auto& profiler : situation.profilers) {
    if (!profiler.program)
      findings.push_back({"profiler", DoctorStatus::Limited,
                          profiler.program.error().message + "; profiles have times and no counters", profiler.remedy});
    else if (profiler.counters)
      findings.push_back(
          {"profiler", DoctorStatus::Limited,
           fmt::format("{}: {}; profiles have times and no counters", *profiler.program, profiler.counters->what),
           profiler.counters->remedy});
    else
      findings.push_back({"profiler", DoctorStatus::Ok, *profiler.program, ""});
  }
  return findings;
}

/// What uses the GPUs: processes where a program lists them, else what the drivers tell in files.
std::string describe_use(const GpuEnvironment& situation) {
  std::string use;
  for (const auto line : split_lines(situation.processes))
    if (!trim(line).empty()) use += (use.empty() ? "" : "; ") + std::string(trim(line));
  if (!use.empty() || !situation.reading) return use;
  for (const auto& gpu : situation.reading->gpus)
    if (const auto now = situation.uses.find(gpu.uuid); now != situation.uses.end() && now->second.is_used())
      use += fmt::format("{}GPU {} {}", use.empty() ? "" : "; ", gpu.index, now->second.to_line());
  return use;
}

/// The newest of torch's builds that the driver serves.
std::string torch_build(const Platform& platform, int driver_version) {
  for (const auto& [oldest_driver, build] : platform.torch_builds)
    if (oldest_driver <= driver_version) return build;
  return {};
}

/// The toolkit that a torch is built for, if it is the platform's: "13.0"; empty for another one.
const std::string& torch_build_for(const Platform& platform, const TorchBuild& torch) {
  return platform.compiler == DeviceCompiler::Hipcc ? torch.hip : torch.cuda;
}

/// The problem of a torch with one GPU.
std::optional<DoctorFinding> torch_problem(const GpuFacts& gpu, const TorchBuild& torch, const std::string& python) {
  const auto& platform = platform_of(gpu.vendor);
  const auto& built_for = torch_build_for(platform, torch);
  const auto remedy =
      fmt::format("{} -m pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/{}", python,
                  torch_build(platform, gpu.driver_version));
  if (built_for.empty())
    return DoctorFinding{
        "torch", DoctorStatus::Limited,
        fmt::format("{}: built without {}, so nothing can be judged on the GPU", torch.version, platform.toolkit),
        remedy};
  int major = 0;
  std::from_chars(built_for.data(), built_for.data() + built_for.size(), major);
  const auto driver = driver_release(gpu);
  if (driver.first > 0 && major > driver.first)
    return DoctorFinding{"torch", DoctorStatus::Limited,
                         fmt::format("{}: built for {} {}, the driver is for {}.{}", torch.version, platform.toolkit,
                                     built_for, driver.first, driver.second),
                         remedy};
  return std::nullopt;
}

}  // namespace

const GpuFacts* first_gpu(const GpuEnvironment& situation) {
  if (!situation.reading) return nullptr;
  for (const auto& gpu : situation.reading->gpus)
    if (platform_of(gpu.vendor).label.empty()) return &gpu;
  return nullptr;
}

Release driver_release(const GpuFacts& gpu) { return {gpu.driver_version / 1000, gpu.driver_version % 1000 / 10}; }

std::vector<DoctorFinding> gpu_findings(const GpuEnvironment& situation) {
  std::vector<DoctorFinding> findings{device_finding(situation)};
  const auto add = [&](std::vector<DoctorFinding> more) {
    findings.insert(findings.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  add(absent_findings(situation));
  if (auto nvcc = nvcc_finding(situation)) findings.push_back(*std::move(nvcc));
  if (auto hipcc = hipcc_finding(situation)) findings.push_back(*std::move(hipcc));
  add(profiler_findings(situation));
  if (const auto use = describe_use(situation); !use.empty())
    findings.push_back({"GPU use", DoctorStatus::Limited, "other processes use it and disturb times: " + use,
                        "wait for them to end, or choose another device"});
  return findings;
}

std::optional<DoctorFinding> torch_on_gpu(const GpuEnvironment& situation, const TorchBuild& torch,
                                          const std::string& python) {
  const auto* first = first_gpu(situation);
  if (first == nullptr) return std::nullopt;
  if (auto problem = torch_problem(*first, torch, python)) return problem;
  // One build of torch serves one maker.
  for (const auto& gpu : situation.reading->gpus) {
    const auto& platform = platform_of(gpu.vendor);
    if (gpu.vendor == first->vendor || !platform.label.empty() || !torch_build_for(platform, torch).empty()) continue;
    return DoctorFinding{
        "torch", DoctorStatus::Limited,
        fmt::format("{}: built without {}, so nothing can be judged on {}", torch.version, platform.toolkit, gpu.name),
        fmt::format("python3 -m venv ~/.kgen-{0} && ~/.kgen-{0}/bin/pip install torch --index-url "
                    "https://download.pytorch.org/whl/{1}, and set KGEN_PYTHON=~/.kgen-{0}/bin/python for GPUs of {2}",
                    platform.vendor, torch_build(platform, gpu.driver_version), platform.maker)};
  }
  return std::nullopt;
}

}  // namespace v0
}  // namespace kernelgen
