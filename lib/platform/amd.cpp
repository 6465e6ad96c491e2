#include "platform/amd_sysfs.hpp"
#include "platform/built_in.hpp"

namespace kernelgen {
inline namespace v0 {

Platform amd_platform() {
  Platform platform;
  platform.vendor = "amd";
  platform.maker = "AMD";
  platform.toolkit = "ROCm";
  platform.words = {.multiprocessor = "CU", .shared_memory = "LDS", .warp = "wavefront", .stream_type = "hipStream_t"};
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
