#include <algorithm>

#include "platform/amd_sysfs.hpp"
#include "platform/built_in.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

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
  platform.read_use = read_amd_use;
  platform.find_node_problem = find_amd_problem;
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
      "groups of its nodes: sudo usermod -aG render,video $USER";
  platform.compiler_remedy = "sudo apt-get install hipcc, or set ROCM_PATH";
  // A CU takes 16 or 32 workgroups at once, so small ones leave most of its wavefronts unused.
  platform.few_threads_per_block = 256;
  return platform;
}

}  // namespace v0
}  // namespace kernelgen
