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

const GpuFacts* first_nvidia(const GpuEnvironment& situation) {
  if (!situation.reading) return nullptr;
  for (const auto& gpu : situation.reading->gpus)
    if (gpu.vendor == "nvidia") return &gpu;
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
  if (!situation.reading)
    return {"GPU", DoctorStatus::Limited, sanitize_line(situation.reading.error().to_line(), 300), "nvidia-smi"};
  const auto& reading = *situation.reading;
  if (reading.gpus.empty() && situation.has_card)
    return {"GPU", DoctorStatus::Limited, "there is an NVIDIA card, but " + sanitize_line(reading.reason, 300),
            "sudo apt-get install nvidia-driver-580, or start the container with --gpus all"};
  if (reading.gpus.empty())
    return {"GPU", DoctorStatus::Ok, "none; cpp, torch and triton kernels are judged on the processor", ""};
  auto text = list_of(reading);
  text += fmt::format("; driver for CUDA {}", format_driver_version(reading.gpus.front().driver_version));
  return {"GPU", DoctorStatus::Ok, sanitize_line(text, 300), ""};
}

/// The finding about nvcc; nothing on a machine without a use for it.
std::optional<DoctorFinding> nvcc_finding(const GpuEnvironment& situation) {
  const auto driver = driver_release(situation);
  if (!situation.nvcc) {
    if (!driver) return std::nullopt;
    return DoctorFinding{"nvcc", DoctorStatus::Limited,
                         "not there; cuda kernels cannot be compiled, triton and torch kernels can",
                         "sudo apt-get install nvidia-cuda-toolkit, or set CUDA_HOME"};
  }
  const auto& [major, minor] = situation.nvcc_release;
  if (major == 0)
    return DoctorFinding{"nvcc", DoctorStatus::Limited, *situation.nvcc + " does not say its version",
                         "set CUDA_HOME to a CUDA toolkit"};
  const auto found = fmt::format("{}.{} ({})", major, minor, *situation.nvcc);
  // Drivers serve every toolkit of their major version, and older ones.
  if (driver && major > driver->first)
    return DoctorFinding{
        "nvcc", DoctorStatus::Limited,
        fmt::format("{}: newer than the driver, which is for CUDA {}.{}; its kernels will not start", found,
                    driver->first, driver->second),
        fmt::format("install a driver for CUDA {}, or set CUDA_HOME to a CUDA {} toolkit", major, driver->first)};
  return DoctorFinding{"nvcc", DoctorStatus::Ok, found, ""};
}

/// The newest of torch's builds that the driver serves.
std::string torch_index(const Release& driver) {
  constexpr Release k_builds[] = {{13, 0}, {12, 8}, {12, 6}, {11, 8}};
  for (const auto& build : k_builds)
    if (build <= driver) return fmt::format("cu{}{}", build.first, build.second);
  return "cu118";
}

}  // namespace

std::optional<Release> driver_release(const GpuEnvironment& situation) {
  const auto* gpu = first_nvidia(situation);
  if (gpu == nullptr) return std::nullopt;
  return Release{gpu->driver_version / 1000, gpu->driver_version % 1000 / 10};
}

std::vector<DoctorFinding> gpu_findings(const GpuEnvironment& situation) {
  std::vector<DoctorFinding> findings{device_finding(situation)};
  if (auto nvcc = nvcc_finding(situation)) findings.push_back(*std::move(nvcc));
  std::string processes;
  for (const auto line : split_lines(situation.processes))
    if (!trim(line).empty()) processes += (processes.empty() ? "" : "; ") + std::string(trim(line));
  if (!processes.empty())
    findings.push_back({"GPU use", DoctorStatus::Limited, "other processes use it and disturb times: " + processes,
                        "wait for them to end, or choose another device"});
  return findings;
}

std::optional<DoctorFinding> torch_on_gpu(const GpuEnvironment& situation, const std::string& torch_version,
                                          const std::string& torch_cuda, const std::string& python) {
  const auto driver = driver_release(situation);
  if (!driver) return std::nullopt;
  const auto remedy =
      fmt::format("{} -m pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/{}", python,
                  torch_index(*driver));
  if (torch_cuda.empty())
    return DoctorFinding{"torch", DoctorStatus::Limited,
                         torch_version + ": built without CUDA, so nothing can be judged on the GPU", remedy};
  int major = 0;
  std::from_chars(torch_cuda.data(), torch_cuda.data() + torch_cuda.size(), major);
  if (major > driver->first)
    return DoctorFinding{"torch", DoctorStatus::Limited,
                         fmt::format("{}: built for CUDA {}, the driver is for {}.{}", torch_version, torch_cuda,
                                     driver->first, driver->second),
                         remedy};
  return std::nullopt;
}

bool has_nvidia_card(const std::string& root) {
  std::error_code error;
  const auto begins = [](const std::filesystem::path& file, std::string_view start) {
    const auto text = read_file(file, 4096);
    return text && text->compare(0, start.size(), start) == 0;
  };
  for (std::filesystem::directory_iterator at(std::filesystem::path(root) / "sys/bus/pci/devices", error), end;
       !error && at != end; at.increment(error))
    // A display controller (class 03) of NVIDIA's (vendor 10de).
    if (begins(at->path() / "vendor", "0x10de") && begins(at->path() / "class", "0x03")) return true;
  return false;
}

}  // namespace v0
}  // namespace kernelgen
