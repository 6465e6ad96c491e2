#include <algorithm>
#include <filesystem>
#include <map>

#include <kernelgen/device/gpu.hpp>

#include "device/gpu_names.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

GpuCatalog shipped() { return read_gpu_catalog(std::string(KERNELGEN_SOURCE_DIR) + "/lib/device/data").value(); }

std::vector<std::string> found(const GpuCatalog& catalog, const char* name) {
  std::vector<std::string> names;
  for (const auto* model : find_gpu_models(catalog, name)) names.push_back(model->facts.name);
  return names;
}

Result<GpuCatalog> read_text(const std::string& text) {
  const auto directory = TemporaryDirectory::create(fs::temp_directory_path(), "catalog-").value();
  write_file_atomic(directory.path() / "gpus.json", text).value();
  return read_gpu_catalog(directory.path());
}

bool in(double value, double low, double high) { return value >= low && value <= high; }

bool is_rdna(const GpuFacts& gpu) { return gpu.architecture.starts_with("gfx1"); }

}  // namespace

TEST_CASE("the catalog lists the GPUs that people have", "[device][gpu][catalog]") {
  const auto catalog = shipped();
  for (const auto* name :
       {"T4",          "RTX 6000",  "RTX 6000 Ada", "A10G",       "L4",         "L40S",   "3090",
        "4090",        "A100 40GB", "A100 80GB",    "H100 SXM",   "H100 PCIe",  "H200",   "B200",
        "MI100",       "MI210",     "MI250",        "MI250X",     "MI300A",     "MI300X", "MI325X",
        "MI350X",      "MI355X",    "RX 6800",      "RX 6800 XT", "RX 6900 XT", "W6800",  "RX 7900 XT",
        "RX 7900 XTX", "W7900",     "RX 9070",      "RX 9070 XT", "R9700"}) {
    INFO(name);
    CHECK_FALSE(found(catalog, name).empty());
  }
}

TEST_CASE("every entry of the catalog is complete and possible", "[device][gpu][catalog]") {
  for (const auto& [gpu, also, source] : shipped()) {
    INFO(gpu.name);
    const bool nvidia = gpu.vendor == "nvidia";
    CHECK((nvidia || gpu.vendor == "amd"));
    CHECK(gpu.architecture.find(nvidia ? "sm_" : "gfx") == 0);
    CHECK(gpu.model == gpu.name);
    CHECK(gpu.uuid.empty());
    CHECK(in(gpu.multiprocessors, 20, 400));
    CHECK(gpu.warp_threads == (gpu.architecture.starts_with("gfx9") ? 64 : 32));
    CHECK(in(double(gpu.memory_bytes), 16.0 * (1 << 30), 300.0 * (1 << 30)));
    CHECK(in(double(gpu.l2_bytes), 4.0 * (1 << 20), 128.0 * (1 << 20)));
    CHECK(gpu.shared_bytes_per_multiprocessor >= gpu.shared_bytes_per_block_optin);
    CHECK(gpu.shared_bytes_per_multiprocessor <= 256 * 1024);
    CHECK_FALSE(gpu.measured_bytes_per_second);
    CHECK(source.size() > 20);
    if (is_rdna(gpu)) continue;
    CHECK(gpu.threads_per_block == 1024);
    CHECK(gpu.cooperative_launch);
    CHECK(in(gpu.threads_per_multiprocessor, 1024, gpu.architecture == "gfx908" ? 2560 : 2048));
    CHECK(gpu.registers_per_block == 65536);
    // The AccVGPRs of gfx908 are a file of their own, which only the matrix units use.
    CHECK(gpu.registers_per_multiprocessor == (nvidia || gpu.architecture == "gfx908" ? 65536 : 131072));
    CHECK(in(gpu.clock_khz, 1.0e6, 3.0e6));
    CHECK(in(gpu.memory_bus_bits, 128, 8192));
    CHECK(gpu.shared_bytes_per_block >= 48 * 1024);
    CHECK(gpu.shared_bytes_per_block_optin >= gpu.shared_bytes_per_block);
    CHECK(in(gpu.memory_bytes_per_second.value_or(0), 300e9, 8e12));
    CHECK(in(gpu.fp32_per_second.value_or(0), 5e12, 200e12));
    CHECK(gpu.fp16_per_second.value_or(0) > gpu.fp32_per_second.value_or(0));
    if (gpu.tf32_per_second) CHECK(in(*gpu.tf32_per_second, *gpu.fp32_per_second, *gpu.fp16_per_second));
  }
}

TEST_CASE("the catalog has of RDNA what was found, in workgroup processors as HIP counts", "[device][gpu][catalog]") {
  std::size_t seen = 0;
  for (const auto& [gpu, also, source] : shipped()) {
    if (!is_rdna(gpu)) continue;
    INFO(gpu.name);
    ++seen;
    // A workgroup processor has the LDS and the registers of two CUs.
    CHECK(gpu.shared_bytes_per_multiprocessor == 128 * 1024);
    CHECK(gpu.registers_per_multiprocessor == (gpu.architecture == "gfx1030" ? 131072 : 196608));
    CHECK(gpu.memory_cache_bytes >= 64u << 20);
    if (gpu.clock_khz != 0) CHECK(in(gpu.clock_khz, 2.0e6, 3.0e6));
    if (gpu.threads_per_multiprocessor != 0) CHECK(gpu.threads_per_multiprocessor == 2048);
    if (gpu.threads_per_block != 0) CHECK(gpu.threads_per_block == 1024);
    if (gpu.memory_bytes_per_second) CHECK(in(*gpu.memory_bytes_per_second, 500e9, 1e12));
    CHECK(source.find("https://") != std::string::npos);
  }
  CHECK(seen == 10);
}

TEST_CASE("the peak of the plain units follows from clock and units", "[device][gpu][catalog]") {
  // Operations a clock of one multiprocessor. Some vendors state the peak for another clock, within 3 %.
  const std::map<std::string, int> per_clock{{"sm_75", 128},  {"sm_80", 128},  {"sm_86", 256},   {"sm_89", 256},
                                             {"sm_90", 256},  {"sm_100", 256}, {"gfx90a", 128},  {"gfx942", 256},
                                             {"gfx950", 256}, {"gfx908", 128}, {"gfx1030", 256}, {"gfx1100", 512},
                                             {"gfx1201", 512}};
  for (const auto& model : shipped()) {
    const auto& gpu = model.facts;
    INFO(gpu.name);
    const double expected = double(gpu.multiprocessors) * gpu.clock_khz * 1e3 * per_clock.at(gpu.architecture);
    if (!is_rdna(gpu) || gpu.fp32_per_second) CHECK(gpu.fp32_per_second.value_or(0) == Approx(expected).epsilon(0.03));
  }
}

TEST_CASE("no name of the catalog means the same device twice", "[device][gpu][catalog]") {
  const auto catalog = shipped();
  for (const auto& model : catalog) {
    INFO(model.facts.name);
    CHECK(find_gpu_models(catalog, model.facts.name).size() == 1);
    for (const auto& also : model.aliases) {
      INFO(also);
      CHECK_FALSE(same_gpu_name(also, model.facts.name));
      CHECK(std::count_if(model.aliases.begin(), model.aliases.end(),
                          [&](const auto& other) { return same_gpu_name(also, other); }) == 1);
    }
  }
}

TEST_CASE("devices are found by what people and drivers call them", "[device][gpu][catalog]") {
  const auto catalog = shipped();
  const std::pair<const char*, const char*> cases[] = {
      {"h100", "H100 SXM"},
      {"NVIDIA H100 80GB HBM3", "H100 SXM"},
      {"NVIDIA H100 PCIe", "H100 PCIe"},
      {"NVIDIA H200", "H200"},
      {"Tesla T4", "T4"},
      {"Quadro RTX 6000", "RTX 6000"},
      {"NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"},
      {"NVIDIA GeForce RTX 4090", "RTX 4090"},
      {"rtx4090", "RTX 4090"},
      {"3090", "RTX 3090"},
      {"a100", "A100 80GB SXM"},
      {"NVIDIA A100-SXM4-40GB", "A100 40GB SXM"},
      {"NVIDIA A100-PCIE-40GB", "A100 40GB PCIe"},
      {"NVIDIA A100 80GB PCIe", "A100 80GB PCIe"},
      {"a100-40gb", "A100 40GB SXM"},
      {"AMD Instinct MI300X", "MI300X"},
      {"mi 300x", "MI300X"},
      {"mi350", "MI350X"},
      {"AMD Instinct MI250X", "MI250X"},
      {"AMD Radeon RX 7900 XTX", "RX 7900 XTX"},
      {"AMD Radeon RX 7900 XT", "RX 7900 XT"},
      {"Radeon RX 6800", "RX 6800"},
      {"AMD Radeon PRO W7900", "Pro W7900"},
      {"AMD Radeon AI PRO R9700", "AI Pro R9700"},
  };
  for (const auto& [name, model] : cases) {
    INFO(name);
    const auto models = found(catalog, name);
    REQUIRE_FALSE(models.empty());
    CHECK(models.front() == model);
  }
}

TEST_CASE("a device that only sounds alike is not found", "[device][gpu][catalog]") {
  const auto catalog = shipped();
  for (const auto* name : {"", "NVIDIA", "NVIDIA GeForce RTX 4090 Laptop GPU", "RTX A6000", "H100 NVL", "A10", "L40",
                           "MI300", "RX 7900 GRE", "W6800X", "NVIDIA H100 80GB HBM3 MIG 1g.10gb"}) {
    INFO(name);
    CHECK(found(catalog, name).empty());
  }
}

TEST_CASE("a catalog that cannot be used says where it is wrong", "[device][gpu][catalog]") {
  const auto message = [](const std::string& text) {
    const auto read = read_text(text);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ErrorCode::Protocol);
    return read.error().message;
  };
  CHECK(message("[").find("gpus.json: ") != std::string::npos);
  CHECK(message("{}").find("schema 0 is not 2") != std::string::npos);
  CHECK(message(R"({"schema": 2, "gpus": [{"facts": {"name": 5}}]})").find("gpus[0].facts.name: ") !=
        std::string::npos);
  CHECK(message(R"({"schema": 2, "gpus": [{"facts": {}}]})").find("a device has no name") != std::string::npos);
  CHECK(message(R"({"schema": 2, "gpus": [{"facts": {"name": "T4"}}, {"facts": {"name": "Tesla T4"}}]})")
            .find("Tesla T4 is listed twice") != std::string::npos);
  CHECK(read_gpu_catalog("/nonexistent").error().code == ErrorCode::NotFound);
}

TEST_CASE("only GPUs like the first are used unless one is asked for", "[device][gpu]") {
  const auto gpu = [](std::string uuid) {
    return GpuFacts{.vendor = "nvidia",
                    .name = "NVIDIA H200",
                    .uuid = std::move(uuid),
                    .architecture = "sm_90",
                    .multiprocessors = 132,
                    .memory_bytes = 150'000'000'000};
  };
  GpuInventory reading{.gpus = {gpu("first"), gpu("same"), gpu("name"), gpu("arch"), gpu("slice"), gpu("half"),
                                gpu("vendor"), gpu("a little less")},
                       .reason = ""};
  reading.gpus[2].name = "NVIDIA H100";
  reading.gpus[3].architecture = "sm_100";
  reading.gpus[4].multiprocessors = 60;
  reading.gpus[5].memory_bytes = 75'000'000'000;
  reading.gpus[6].vendor = "amd";
  reading.gpus[7].memory_bytes = 149'000'000'000;
  std::vector<std::string> uuids;
  for (const auto& like : gpus_like_first(reading)) uuids.push_back(like.uuid);
  CHECK(uuids == std::vector<std::string>{"first", "same", "a little less"});
  CHECK(gpus_like_first({}).empty());
}

TEST_CASE("a GPU is chosen by its number among its maker's", "[device][gpu]") {
  const auto gpu = [](int index, std::string vendor, std::string uuid) {
    return GpuFacts{.index = index, .vendor = std::move(vendor), .name = "a GPU", .uuid = std::move(uuid)};
  };
  const GpuInventory reading{
      .gpus = {gpu(0, "nvidia", "GPU-1"), gpu(1, "amd", "GPU-2"), gpu(2, "amd", "PCI-0000:83:00")}, .reason = ""};
  const auto chosen = [&](std::string_view asked) { return choose_gpu(reading, {}, asked).value().uuid; };
  CHECK(chosen("amd:0") == "GPU-2");
  CHECK(chosen("amd:1") == "PCI-0000:83:00");
  CHECK(chosen("nvidia:0") == "GPU-1");
  CHECK(chosen("2") == "PCI-0000:83:00");
  CHECK(chosen("PCI-0000:83") == "PCI-0000:83:00");
  for (const char* missing : {"amd:2", "nvidia:1", "acme:0", "amd:", ":0"})
    CHECK(choose_gpu(reading, {}, missing).error().code == ErrorCode::MissingDevice);
  CHECK(gpus_for(reading, "amd").gpus.size() == 2);
  CHECK(gpus_for(reading, "").gpus.size() == 3);
  CHECK(gpus_for(reading, "acme").gpus.empty());
  CHECK(gpus_for(reading, "acme").reason == "a GPU is no GPU for it");
}
