#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <optional>

#include "platform/built_in.hpp"
#include "platform/device_nodes.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// The value on a line of the driver's text that begins with `name`; empty without such a line.
std::string value_of(const fs::path& information, std::string_view name) {
  std::ifstream file(information);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':')
      return std::string(trim(std::string_view(line).substr(name.size() + 1)));
  return {};
}

/// The number in the name of a GPU's node, as the driver tells it.
std::optional<std::string> minor_of(const std::string& uuid, const fs::path& root) {
  std::error_code error;
  for (const auto& gpu : fs::directory_iterator(root / "proc/driver/nvidia/gpus", error)) {
    const auto information = gpu.path() / "information";
    if (value_of(information, "GPU UUID") != uuid) continue;
    auto minor = value_of(information, "Device Minor");
    if (is_decimal(minor)) return minor;
  }
  return std::nullopt;
}

std::vector<std::string> nvidia_nodes(const std::string& uuid, const fs::path& root) {
  const auto minor = minor_of(uuid, root);
  return nodes_in(root, "dev", [&](std::string_view name) {
    if (name == "nvidiactl" || name == "nvidia-uvm" || name == "nvidia-uvm-tools" || name == "nvidia-caps") return true;
    if (!name.starts_with("nvidia") || !is_decimal(name.substr(6))) return false;
    return !minor || name.substr(6) == *minor;
  });
}

/// TF32 came with 8.0; clusters and TMA came with 9.0; wgmma is in 9.0 alone.
std::vector<std::string> nvidia_features_of(std::string_view architecture) {
  if (!architecture.starts_with("sm_") || !is_decimal(architecture.substr(3))) return {};
  const int number = std::stoi(std::string(architecture.substr(3, 4)));
  std::vector<std::string> features;
  if (number >= 80) features.emplace_back("tf32");
  if (number >= 90) features.emplace_back("sm90");
  if (number == 90) features.emplace_back("wgmma");
  return features;
}

/// Capabilities are bits; this one lets a process read counters where only administrators may.
constexpr int k_sys_admin_bit = 21;

std::optional<PlatformProblem> find_nvidia_counter_problem(const fs::path& root) {
  if (value_of(root / "proc/driver/nvidia/params", "RmProfilingAdminOnly") != "1") return std::nullopt;
  const auto capabilities = value_of(root / "proc/self/status", "CapEff");
  std::uint64_t bits = 0;
  const auto* const end = capabilities.data() + capabilities.size();
  if (std::from_chars(capabilities.data(), end, bits, 16).ec == std::errc() && (bits >> k_sys_admin_bit & 1) != 0)
    return std::nullopt;
  return PlatformProblem{"only administrators may read counters (ERR_NVGPUCTRPERM)",
                         "options nvidia NVreg_RestrictProfilingToAdminUsers=0 in a file of /etc/modprobe.d, and boot "
                         "again; a container needs --cap-add=SYS_ADMIN"};
}

}  // namespace

Platform nvidia_platform() {
  Platform platform;
  platform.vendor = "nvidia";
  platform.maker = "NVIDIA";
  platform.toolkit = "CUDA";
  platform.kernel_features = nvidia_features_of;
  platform.pci_vendor = "0x10de";
  platform.device_nodes = nvidia_nodes;
  platform.find_counter_problem = find_nvidia_counter_problem;
  platform.choosing_variable = "CUDA_VISIBLE_DEVICES";
  platform.hiding_variables = {"CUDA_VISIBLE_DEVICES"};
  platform.compiler = DeviceCompiler::Nvcc;
  platform.counters = CounterProgram::Ncu;
  platform.has_cupti = platform.has_compute_sanitizer = true;
  platform.torch_builds = {{13000, "cu130"}, {12080, "cu128"}, {12060, "cu126"}, {0, "cu118"}};
  platform.process_list = {"nvidia-smi", "--query-compute-apps=pid,process_name,used_memory", "--format=csv,noheader"};
  platform.driver_remedy = "sudo apt-get install nvidia-driver-580, or start the container with --gpus all";
  platform.compiler_remedy = "sudo apt-get install nvidia-cuda-toolkit, or set CUDA_HOME";
  return platform;
}

}  // namespace v0
}  // namespace kernelgen
