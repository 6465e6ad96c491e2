#include <kernelgen/platform/platform.hpp>

#include <filesystem>

#include <kernelgen/device/gpu.hpp>
#include <kernelgen/prompt/prompt_device.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

/// A file system with device nodes and what drivers tell of them.
struct Machine {
  TemporaryDirectory root = TemporaryDirectory::create(fs::temp_directory_path(), "platform-").value();

  void write(const std::string& name, const std::string& text) const {
    make_directories((root.path() / name).parent_path()).value();
    write_file_atomic(root.path() / name, text).value();
  }
  [[nodiscard]] std::vector<std::string> nodes(const std::string& vendor, const std::string& uuid) const {
    return platform_of(vendor).device_nodes(uuid, root.path());
  }
};

using Nodes = std::vector<std::string>;

}  // namespace

TEST_CASE("a runner gets the nodes of its NVIDIA GPU, and no other GPU's", "[platform]") {
  const Machine machine;
  for (const char* name :
       {"nvidia0", "nvidia1", "nvidia13", "nvidiactl", "nvidia-uvm", "nvidia-modeset", "null", "sda"})
    machine.write(std::string("dev/") + name, "");
  machine.write("proc/driver/nvidia/gpus/0000:01:00.0/information",
                "Model: \t\t NVIDIA\nGPU UUID: \t GPU-aaaa\nDevice Minor: \t 0\n");
  machine.write("proc/driver/nvidia/gpus/0000:02:00.0/information",
                "Model: \t\t NVIDIA\nGPU UUID: \t GPU-bbbb\nDevice Minor: \t 13\n");
  machine.write("proc/driver/nvidia/gpus/0000:03:00.0/information", "GPU UUID: \t GPU-????\nDevice Minor: \t ?\n");
  CHECK(machine.nodes("nvidia", "GPU-bbbb") == Nodes{"/dev/nvidia-uvm", "/dev/nvidia13", "/dev/nvidiactl"});
  const Nodes all{"/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia13", "/dev/nvidiactl"};
  CHECK(machine.nodes("nvidia", "GPU-cccc") == all);
  CHECK(machine.nodes("nvidia", "GPU-????") == all);
}

TEST_CASE("a runner gets the nodes of its AMD GPU, and no other GPU's", "[platform]") {
  const Machine machine;
  for (const char* name : {"kfd", "null", "dri/card0", "dri/renderD128", "dri/renderD129"})
    machine.write(std::string("dev/") + name, "");
  const std::string topology = "sys/class/kfd/kfd/topology/nodes/";
  machine.write(topology + "0/properties", "cpu_cores_count 16\nunique_id 0\ndrm_render_minor 0\n");
  machine.write(topology + "1/properties", "simd_count 1216\nunique_id 18\ndrm_render_minor 128\n");
  machine.write(topology + "2/properties", "simd_count 1216\nunique_id 255\ndrm_render_minor 129\n");
  CHECK(machine.nodes("amd", "GPU-00000000000000ff") == Nodes{"/dev/kfd", "/dev/dri/renderD129"});
  CHECK(machine.nodes("amd", "GPU-0000000000000012") == Nodes{"/dev/kfd", "/dev/dri/renderD128"});
  const Nodes all{"/dev/kfd", "/dev/dri/renderD128", "/dev/dri/renderD129"};
  CHECK(machine.nodes("amd", "GPU-0000000000000013") == all);
  CHECK(machine.nodes("amd", "PCI-0000:03:00") == all);
  CHECK(machine.nodes("amd", "GPU-0000000000000000") == all);
}

TEST_CASE("AMD's architectures differ in what kernels have to know about them", "[platform]") {
  using Words = std::vector<std::string>;
  const auto features = [](const char* architecture) { return platform_of("amd").kernel_features(architecture); };
  for (const auto* cdna : {"gfx908", "gfx90a", "gfx942"}) CHECK(features(cdna) == Words{"wave64", "mfma", "lds64"});
  CHECK(features("gfx950") == Words{"wave64", "mfma", "lds160"});
  for (const auto* older : {"gfx900", "gfx906", "gfx90c"}) CHECK(features(older) == Words{"wave64", "lds64"});
  for (const auto* rdna : {"gfx1010", "gfx1030", "gfx1036"}) CHECK(features(rdna) == Words{"wave32", "lds64"});
  CHECK(features("gfx1100") == Words{"wave32", "wmma", "wmma_gfx11", "lds64"});
  CHECK(features("gfx1151") == features("gfx1100"));
  CHECK(features("gfx1201") == Words{"wave32", "wmma", "wmma_gfx12", "lds64"});
  for (const auto* unknown : {"", "gfx", "gfx803", "sm_90", "gfx1250", "gfx1300", "gfx9-generic", "gfx90"})
    CHECK(features(unknown).empty());
}

TEST_CASE("NVIDIA's architectures differ in their matrix units and clusters", "[platform]") {
  using Words = std::vector<std::string>;
  const auto features = [](const char* architecture) { return platform_of("nvidia").kernel_features(architecture); };
  CHECK(features("sm_90") == Words{"tf32", "sm90", "wgmma"});
  CHECK(features("sm_86") == Words{"tf32"});
  CHECK(features("sm_100") == Words{"tf32", "sm90"});
  for (const auto* unknown : {"", "sm_", "sm_75", "sm_9x", "gfx942", "90"}) CHECK(features(unknown).empty());
}

TEST_CASE("an AMD GPU without a number of its own is known by its place on the bus", "[platform]") {
  const Machine machine;
  for (const char* name : {"kfd", "dri/renderD128", "dri/renderD129"}) machine.write(std::string("dev/") + name, "");
  const std::string topology = "sys/class/kfd/kfd/topology/nodes/";
  // The bus is 0x83, the device 3 and its function 1; then 3, 0 and 0 in another domain.
  machine.write(topology + "1/properties", "unique_id 0\ndrm_render_minor 128\nlocation_id 33561\ndomain 0\n");
  machine.write(topology + "2/properties", "unique_id 0\ndrm_render_minor 129\nlocation_id 768\ndomain 1\n");
  CHECK(machine.nodes("amd", "PCI-0000:83:03") == Nodes{"/dev/kfd", "/dev/dri/renderD128"});
  CHECK(machine.nodes("amd", "PCI-0001:03:00") == Nodes{"/dev/kfd", "/dev/dri/renderD129"});
}

namespace {

/// A machine with one AMD GPU.
struct AmdMachine : Machine {
  AmdMachine() { write("sys/class/kfd/kfd/topology/nodes/1/properties", "unique_id 18\ndrm_render_minor 128\n"); }
  void tell(const std::string& name, const std::string& text) const {
    write("sys/class/drm/renderD128/device/" + name, text);
  }
  [[nodiscard]] std::optional<GpuUse> use(const char* uuid = "GPU-0000000000000012") const {
    return platform_of("amd").read_use(uuid, root.path());
  }
  [[nodiscard]] PlatformProblem problem() const {
    const auto found = platform_of("amd").find_node_problem(root.path());
    return found ? *found : PlatformProblem{"none", ""};
  }
  /// A node that no user can open.
  void close(const std::string& name) const {
    make_directories((root.path() / name).parent_path()).value();
    fs::create_symlink("/nonexistent/node", root.path() / name);
  }
};

}  // namespace

TEST_CASE("what an AMD GPU does is read from files, without a program", "[platform]") {
  const AmdMachine machine;
  machine.tell("gpu_busy_percent", "37\n");
  machine.tell("mem_info_vram_used", "4294967296\n");
  machine.tell("mem_info_vram_total", "68702699520\n");
  machine.tell("pp_dpm_sclk", "0: 500Mhz\n1: 1700Mhz *\n");
  machine.tell("pp_dpm_mclk", "0: 400Mhz *\n1: 1600Mhz\n");
  const auto use = machine.use();
  REQUIRE(use);
  CHECK(use->to_line() == "busy 37 %, memory 4.0 of 64 GiB, clock 1700 MHz, memory clock 400 MHz");
  CHECK(use->is_busy());
  CHECK(use->is_used());
  CHECK_FALSE(machine.use("GPU-00000000000000ff"));
  CHECK_FALSE(platform_of("nvidia").read_use("GPU-0000000000000012", machine.root.path()));
}

TEST_CASE("what the driver of an AMD GPU does not tell, or tells wrongly, is not known", "[platform]") {
  const AmdMachine machine;
  REQUIRE(machine.use());
  CHECK(machine.use()->to_line().empty());
  CHECK_FALSE(machine.use()->is_used());
  machine.tell("gpu_busy_percent", "101\n");
  machine.tell("mem_info_vram_used", "a lot\n");
  machine.tell("mem_info_vram_total", "68702699520\n");
  machine.tell("pp_dpm_sclk", "0: 500Mhz\nS: *\n");
  CHECK(machine.use()->to_line().empty());
  machine.tell("mem_info_vram_used", "4293918720\n");  // less than a sixteenth
  machine.tell("gpu_busy_percent", "9\n");
  CHECK_FALSE(machine.use()->is_used());
  machine.tell("mem_info_vram_used", "4293918721\n");
  CHECK_FALSE(machine.use()->is_busy());
  CHECK(machine.use()->is_used());
}

TEST_CASE("an AMD driver that is not loaded, or not in the container, is told apart", "[platform]") {
  const AmdMachine machine;
  CHECK(machine.problem().what == "AMD's driver (amdgpu) is not loaded: there is no /dev/kfd");
  CHECK(machine.problem().remedy.find("sudo modprobe amdgpu") == 0);
  machine.write("sys/module/amdgpu/version", "6.8\n");
  CHECK(machine.problem().what == "AMD's driver is loaded, and there is no /dev/kfd");
  CHECK(machine.problem().remedy == "start the container with the devices /dev/kfd and /dev/dri");
  machine.write("dev/kfd", "");
  CHECK(machine.problem().what == "there is no /dev/dri/renderD*");
  machine.write("dev/dri/renderD128", "");
  CHECK(machine.problem().what == "none");
}

TEST_CASE("nodes of AMD GPUs that are closed to the user are named, with the groups", "[platform]") {
  const AmdMachine machine;
  machine.close("dev/kfd");
  machine.write("dev/dri/renderD128", "");
  CHECK(machine.problem().what == "/dev/kfd is not open to this user");
  CHECK(machine.problem().remedy.find("sudo usermod -aG render,video $USER, and log in again") == 0);
  fs::remove(machine.root.path() / "dev/kfd");
  machine.write("dev/kfd", "");
  machine.close("dev/dri/renderD129");  // another user's GPU
  CHECK(machine.problem().what == "none");
  fs::remove(machine.root.path() / "dev/dri/renderD128");
  CHECK(machine.problem().what == "/dev/dri/renderD129 is not open to this user");
}

TEST_CASE("NVIDIA's driver may keep counters to administrators", "[platform]") {
  const Machine machine;
  const auto problem = [&] { return platform_of("nvidia").find_counter_problem(machine.root.path()); };
  CHECK_FALSE(problem());
  machine.write("proc/driver/nvidia/params", "EnableMSI: 1\nRmProfilingAdminOnly: 1\n");
  machine.write("proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
  REQUIRE(problem());
  CHECK(problem()->what.find("ERR_NVGPUCTRPERM") != std::string::npos);
  CHECK(problem()->remedy.find("NVreg_RestrictProfilingToAdminUsers=0") != std::string::npos);
  machine.write("proc/self/status", "Name:\tx\nCapEff:\t0000000000200000\n");
  CHECK_FALSE(problem());
  machine.write("proc/self/status", "CapEff:\t0000000000000000\n");
  machine.write("proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n");
  CHECK_FALSE(problem());
}

TEST_CASE("a machine without nodes gives none", "[platform]") {
  const Machine machine;
  for (const char* vendor : {"nvidia", "amd", "fake"}) CHECK(machine.nodes(vendor, "GPU-1").empty());
}

TEST_CASE("a vendor that nobody has added has a platform without abilities", "[platform]") {
  const auto& none = platform_of("unheard-of");
  CHECK(none.vendor.empty());
  CHECK(none.compiler == DeviceCompiler::None);
  CHECK_FALSE(serves_vendor("unheard-of", "nvidia"));
  CHECK(serves_vendor("unheard-of", ""));
}

TEST_CASE("the tests' device serves targets of every vendor, and its records say so", "[platform]") {
  CHECK(serves_vendor("fake", "amd"));
  CHECK(serves_vendor("fake", "nvidia"));
  CHECK_FALSE(serves_vendor("amd", "nvidia"));
  CHECK_FALSE(platform_of("fake").label.empty());
  CHECK(platform_of("amd").label.empty());
}

TEST_CASE("a program adds a platform, and its words are in facts of its GPUs", "[platform]") {
  Platform added;
  added.vendor = "acme";
  added.maker = "ACME";
  added.toolkit = "ACME Runtime";
  added.words = {
      .multiprocessor = "tile", .shared_memory = "scratchpad", .warp = "bundle", .stream_type = "acme_queue"};
  added.pci_vendor = "0xac4e";
  added.device_nodes = [](const std::string& uuid, const fs::path&) { return Nodes{"/dev/acme-" + uuid}; };
  added.choosing_variable = "ACME_VISIBLE";
  add_platform(added);
  const auto& first = platform_of("acme");
  GpuFacts gpu;
  gpu.vendor = "acme";
  gpu.name = "ACME 1";
  gpu.architecture = "a1";
  gpu.multiprocessors = 8;
  gpu.threads_per_block = 256;
  gpu.threads_per_multiprocessor = 512;
  gpu.warp_threads = 16;
  gpu.memory_bytes = std::uint64_t{8} << 30;
  CHECK(gpu.to_line() == "ACME 1 (a1), 8 tiles, 8 GiB");
  bool has_bundle = false;
  for (const auto& fact : device_facts(gpu))
    has_bundle = has_bundle || fact.second.find("16 per bundle") != std::string::npos;
  CHECK(has_bundle);
  CHECK(serves_vendor("acme", "acme"));
  // One that comes later takes its place; the first stays readable.
  added.maker = "ACME Ltd.";
  add_platform(added);
  CHECK(first.maker == "ACME");
  CHECK(platform_of("acme").maker == "ACME Ltd.");
  CHECK(platform_of("acme").device_nodes("7", "/") == Nodes{"/dev/acme-7"});
}
