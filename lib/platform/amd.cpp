#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

#include "platform/built_in.hpp"
#include "platform/device_nodes.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// The number after a name in a file of the driver's topology; 0 without it.
std::uint64_t topology_property(const fs::path& properties, std::string_view name) {
  std::ifstream file(properties);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t value = 0;
    if (words >> key >> value && key == name) return value;
  }
  return 0;
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

/// The name of a GPU's node for computing, "renderD128".
std::optional<std::string> render_node_of(const std::string& uuid, const fs::path& root) {
  const auto wanted = unique_id_of(uuid);
  if (!wanted) return std::nullopt;
  std::error_code error;
  for (const auto& node : fs::directory_iterator(root / "sys/class/kfd/kfd/topology/nodes", error)) {
    const auto properties = node.path() / "properties";
    if (topology_property(properties, "unique_id") != *wanted) continue;
    const auto minor = topology_property(properties, "drm_render_minor");
    if (minor > 0) return "renderD" + std::to_string(minor);
  }
  return std::nullopt;
}

std::vector<std::string> amd_nodes(const std::string& uuid, const fs::path& root) {
  const auto own = render_node_of(uuid, root);
  auto nodes = nodes_in(root, "dev", [](std::string_view name) { return name == "kfd"; });
  const auto render = nodes_in(root, "dev/dri", [&](std::string_view name) {
    return own ? name == *own : name.starts_with("renderD") && is_decimal(name.substr(7));
  });
  nodes.insert(nodes.end(), render.begin(), render.end());
  return nodes;
}

/// The families of kernels: CDNA with waves of 64 and MFMA, its predecessors without, and RDNA with waves of 32, where
/// WMMA came with gfx11 and got other operands with gfx12.
std::vector<std::string> kernel_features_of(std::string_view architecture) {
  static constexpr std::string_view k_cdna[] = {"gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950"};
  // "gfx90a" has the version 9.0, "gfx1100" 11.0: the last two characters are no part of the generation.
  const auto generation = architecture.size() > 5 ? architecture.substr(0, architecture.size() - 2) : "";
  const auto lds = architecture == "gfx950" ? "lds160" : "lds64";
  if (std::find(std::begin(k_cdna), std::end(k_cdna), architecture) != std::end(k_cdna)) return {"wave64", "mfma", lds};
  if (generation == "gfx9") return {"wave64", lds};
  if (generation == "gfx10") return {"wave32", lds};
  if (generation == "gfx11") return {"wave32", "wmma", "wmma_gfx11", lds};
  // gfx1250 and its like take other operands again.
  if (architecture.starts_with("gfx120")) return {"wave32", "wmma", "wmma_gfx12", lds};
  return {};
}

}  // namespace

Platform amd_platform() {
  Platform platform;
  platform.vendor = "amd";
  platform.maker = "AMD";
  platform.toolkit = "ROCm";
  platform.words = {.multiprocessor = "CU",
                    .shared_memory = "LDS",
                    .warp = "wavefront",
                    .stream_type = "hipStream_t",
                    .runtime_prefix = "hip"};
  platform.kernel_features = kernel_features_of;
  platform.pci_vendor = "0x1002";
  platform.device_nodes = amd_nodes;
  // HIP's own variable takes indices only, where ROCr's takes UUIDs as well.
  platform.choosing_variable = "ROCR_VISIBLE_DEVICES";
  platform.hiding_variables = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
                               "CUDA_VISIBLE_DEVICES"};
  platform.compiler = DeviceCompiler::Hipcc;
  platform.has_code_metadata = true;
  platform.counters = CounterProgram::Rocprof;
  platform.torch_builds = {{7000, "rocm7.0"}, {6040, "rocm6.4"}, {6030, "rocm6.3"}, {6020, "rocm6.2"}, {0, "rocm6.1"}};
  platform.process_list = {"rocm-smi", "--showpids"};
  platform.driver_remedy =
      "install AMD's driver (amdgpu-dkms and rocm, https://rocm.docs.amd.com), and join the "
      "groups of its nodes: sudo usermod -a -G render,video $USER";
  platform.compiler_remedy = "sudo apt-get install hipcc, or set ROCM_PATH";
  // A CU takes 16 or 32 workgroups at once, so small ones leave most of its wavefronts unused.
  platform.few_threads_per_block = 256;
  return platform;
}

}  // namespace v0
}  // namespace kernelgen
