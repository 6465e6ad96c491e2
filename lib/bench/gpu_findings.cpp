#include "bench/gpu_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <vector>

#include "support/files.hpp"
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
    return {"GPU", DoctorStatus::Limited,
            fmt::format("there is an {} card, but {}", platform.maker, sanitize_line(reading.reason, 300)),
            platform.driver_remedy};
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
  if (situation.hipcc) return DoctorFinding{"hipcc", DoctorStatus::Ok, *situation.hipcc, ""};
  return DoctorFinding{"hipcc", DoctorStatus::Limited,
                       "not there; hip kernels cannot be compiled, triton and torch kernels can",
                       platform_of(gpu->vendor).compiler_remedy};
}

/// The newest of torch's builds that the driver serves.
std::string torch_build(const Platform& platform, int driver_version) {
  for (const auto& [oldest_driver, build] : platform.torch_builds)
    if (oldest_driver <= driver_version) return build;
  return {};
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
  if (auto nvcc = nvcc_finding(situation)) findings.push_back(*std::move(nvcc));
  if (auto hipcc = hipcc_finding(situation)) findings.push_back(*std::move(hipcc));
  std::string processes;
  for (const auto line : split_lines(situation.processes))
    if (!trim(line).empty()) processes += (processes.empty() ? "" : "; ") + std::string(trim(line));
  if (!processes.empty())
    findings.push_back({"GPU use", DoctorStatus::Limited, "other processes use it and disturb times: " + processes,
                        "wait for them to end, or choose another device"});
  return findings;
}

std::optional<DoctorFinding> torch_on_gpu(const GpuEnvironment& situation, const TorchBuild& torch,
                                          const std::string& python) {
  const auto* gpu = first_gpu(situation);
  if (gpu == nullptr) return std::nullopt;
  const auto& platform = platform_of(gpu->vendor);
  const auto& built_for = platform.compiler == DeviceCompiler::Hipcc ? torch.hip : torch.cuda;
  const auto remedy =
      fmt::format("{} -m pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/{}", python,
                  torch_build(platform, gpu->driver_version));
  if (built_for.empty())
    return DoctorFinding{
        "torch", DoctorStatus::Limited,
        fmt::format("{}: built without {}, so nothing can be judged on the GPU", torch.version, platform.toolkit),
        remedy};
  int major = 0;
  std::from_chars(built_for.data(), built_for.data() + built_for.size(), major);
  const auto driver = driver_release(*gpu);
  if (driver.first > 0 && major > driver.first)
    return DoctorFinding{"torch", DoctorStatus::Limited,
                         fmt::format("{}: built for {} {}, the driver is for {}.{}", torch.version, platform.toolkit,
                                     built_for, driver.first, driver.second),
                         remedy};
  return std::nullopt;
}

std::vector<const Platform*> cards_on_bus(const std::string& root) {
  std::error_code error;
  std::vector<const Platform*> found;
  const auto read = [](const std::filesystem::path& file) {
    const auto text = read_file(file, 4096);
    return text ? std::string(trim(*text)) : std::string();
  };
  for (std::filesystem::directory_iterator at(std::filesystem::path(root) / "sys/bus/pci/devices", error), end;
       !error && at != end; at.increment(error)) {
    // Display controllers and processing accelerators.
    const auto what = read(at->path() / "class");
    if (!what.starts_with("0x03") && !what.starts_with("0x12")) continue;
    const auto vendor = read(at->path() / "vendor");
    for (const auto* platform : platforms())
      if (!vendor.empty() && platform->pci_vendor == vendor &&
          std::find(found.begin(), found.end(), platform) == found.end())
        found.push_back(platform);
  }
  return found;
}

}  // namespace v0
}  // namespace kernelgen
