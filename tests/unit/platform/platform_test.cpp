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
  CHECK(platform_of("nvidia").kernel_features("sm_90").empty());
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
