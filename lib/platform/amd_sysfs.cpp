#include "platform/amd_sysfs.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "platform/device_nodes.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_max_sysfs_bytes = 1u << 16;

/// The numbers of a GPU in the driver's topology.
using Topology = std::map<std::string, std::uint64_t, std::less<>>;

Topology read_topology(const fs::path& properties) {
  Topology numbers;
  std::ifstream file(properties);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t value = 0;
    if (words >> name >> value) numbers[name] = value;
  }
  return numbers;
}

/// 0 without it.
std::uint64_t topology_number(const Topology& topology, std::string_view name) {
  const auto found = topology.find(name);
  return found == topology.end() ? 0 : found->second;
}

/// The number that the driver gave the GPU at its making: "GPU-1a2b..." has it in hexadecimal.
std::optional<std::uint64_t> unique_id_of(std::string_view uuid) {
  constexpr std::string_view k_prefix = "GPU-";
  if (!uuid.starts_with(k_prefix)) return std::nullopt;
  uuid.remove_prefix(k_prefix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(uuid.data(), uuid.data() + uuid.size(), number, 16);
  if (error != std::errc() || end != uuid.data() + uuid.size() || number == 0) return std::nullopt;
  return number;
}

/// The place on the bus as a GPU without a number of its own has it in its UUID: "PCI-0000:03:00".
std::string place_on_bus(const Topology& topology) {
  // The bus, five bits for the device, three for its function.
  const auto location = topology_number(topology, "location_id");
  return fmt::format("PCI-{:04x}:{:02x}:{:02x}", topology_number(topology, "domain"), location >> 8,
                     location >> 3 & 0x1f);
}

/// The name of a GPU's node for computing, "renderD128".
std::optional<std::string> render_node_of(const std::string& uuid, const fs::path& root) {
  const auto wanted = unique_id_of(uuid);
  std::error_code error;
  for (const auto& node : fs::directory_iterator(root / "sys/class/kfd/kfd/topology/nodes", error)) {
    const auto topology = read_topology(node.path() / "properties");
    const auto minor = topology_number(topology, "drm_render_minor");
    // A processor is a node without a minor.
    if (minor == 0) continue;
    if (wanted ? topology_number(topology, "unique_id") == *wanted : place_on_bus(topology) == uuid)
      return "renderD" + std::to_string(minor);
  }
  return std::nullopt;
}

std::optional<std::string> read_sysfs(const fs::path& path) {
  const auto text = read_file(path, k_max_sysfs_bytes);
  return text ? std::optional<std::string>(trim(*text)) : std::nullopt;
}

std::optional<std::uint64_t> read_sysfs_number(const fs::path& path) {
  const auto text = read_sysfs(path);
  std::uint64_t number = 0;
  if (!text || !is_decimal(*text)) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

/// The clock in use, in a list such as "0: 500Mhz\n1: 1700Mhz *".
std::optional<int> read_sysfs_clock(const fs::path& path) {
  const auto text = read_sysfs(path);
  if (!text) return std::nullopt;
  for (const auto line : split_lines(*text)) {
    const auto colon = line.find(": ");
    int mhz = 0;
    if (colon == line.npos || !line.ends_with("*")) continue;
    const auto said = line.substr(colon + 2);
    if (std::from_chars(said.data(), said.data() + said.size(), mhz).ec == std::errc()) return mhz;
  }
  return std::nullopt;
}

bool is_listed(const fs::path& path) {
  std::error_code error;
  // A link is not followed: where it leads nowhere, the node cannot be opened, which is another problem.
  return fs::exists(fs::symlink_status(path, error));
}

bool is_node_open(const fs::path& root, const std::string& node) {
  return ::access((root / node.substr(1)).c_str(), R_OK | W_OK) == 0;
}

PlatformProblem closed_node(const std::string& node) {
  return {node + " is not open to this user",
          "sudo usermod -aG render,video $USER, and log in again; a container needs --group-add with the node's group"};
}

}  // namespace

std::vector<std::string> amd_nodes(const std::string& uuid, const fs::path& root) {
  const auto own = render_node_of(uuid, root);
  auto nodes = nodes_in(root, "dev", [](std::string_view name) { return name == "kfd"; });
  const auto render = nodes_in(root, "dev/dri", [&](std::string_view name) {
    return own ? name == *own : name.starts_with("renderD") && is_decimal(name.substr(7));
  });
  nodes.insert(nodes.end(), render.begin(), render.end());
  return nodes;
}

std::optional<GpuUse> read_amd_use(const std::string& uuid, const fs::path& root) {
  const auto node = render_node_of(uuid, root);
  if (!node) return std::nullopt;
  const auto device = root / "sys/class/drm" / *node / "device";
  GpuUse use;
  if (const auto busy = read_sysfs_number(device / "gpu_busy_percent"); busy && *busy <= 100)
    use.busy_percent = static_cast<int>(*busy);
  use.memory_used_bytes = read_sysfs_number(device / "mem_info_vram_used");
  use.memory_total_bytes = read_sysfs_number(device / "mem_info_vram_total");
  use.multiprocessor_mhz = read_sysfs_clock(device / "pp_dpm_sclk");
  use.memory_mhz = read_sysfs_clock(device / "pp_dpm_mclk");
  return use;
}

std::optional<PlatformProblem> find_amd_problem(const fs::path& root) {
  constexpr const char* k_container = "start the container with the devices /dev/kfd and /dev/dri";
  if (!is_listed(root / "dev/kfd")) {
    if (is_listed(root / "sys/module/amdgpu"))
      return PlatformProblem{"AMD's driver is loaded, and there is no /dev/kfd", k_container};
    return PlatformProblem{"AMD's driver (amdgpu) is not loaded: there is no /dev/kfd",
                           "sudo modprobe amdgpu, or install it (https://rocm.docs.amd.com)"};
  }
  if (!is_node_open(root, "/dev/kfd")) return closed_node("/dev/kfd");
  auto nodes = amd_nodes("", root);
  std::erase(nodes, "/dev/kfd");
  if (nodes.empty()) return PlatformProblem{"there is no /dev/dri/renderD*", k_container};
  // On a shared machine, those of other users' GPUs may be closed.
  if (std::none_of(nodes.begin(), nodes.end(), [&](const auto& node) { return is_node_open(root, node); }))
    return closed_node(nodes.front());
  return std::nullopt;
}

}  // namespace v0
}  // namespace kernelgen
