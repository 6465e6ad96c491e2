#include <kernelgen/prompt/prompt_device.hpp>

#include <filesystem>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;

namespace {

class NoProcesses final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token) override {
    return Error{ErrorCode::MissingTool, request.command.front() + " is not installed"};
  }
};

Installation shipped_installation() {
  Installation installation;
  installation.gpu_probe = "/no/kgen-gpu";
  installation.devices_dir = KERNELGEN_SOURCE_DIR "/lib/device/data";
  return installation;
}

GpuCatalog shipped_catalog() { return read_gpu_catalog(shipped_installation().devices_dir).value(); }

/// The device for prompts on a machine without GPUs.
Result<PromptDevice> find_device(Target target, const std::string& gpu, bool is_judged_here) {
  NoProcesses processes;
  return find_prompt_device(
      {.installation = shipped_installation(), .target = target, .gpu = gpu, .is_judged_here = is_judged_here},
      processes, {});
}

/// The value of the fact of this name; empty when there is none.
std::string fact_of(const PromptDevice& device, const std::string& name) {
  for (const auto& [known, value] : device.facts)
    if (known == name) return value;
  return "";
}

}  // namespace

TEST_CASE("device facts are those that are known", "[prompt][device]") {
  CpuFacts facts;
  facts.model = "Some CPU";
  facts.usable_cores = 4;
  CHECK(device_facts(facts) ==
        std::vector<DeviceFact>{{"processor", "Some CPU"}, {"hardware threads for this kernel", "4"}});
  facts.vector_flags = {"avx2", "fma"};
  facts.caches = {{1, "Data", 32u << 10, 2}, {1, "Instruction", 32u << 10, 2}, {3, "Unified", 24u << 20, 1}};
  facts.memory_bytes = 16ULL << 30;
  const auto lines = device_facts(facts);
  CHECK(std::vector<DeviceFact>(lines.begin() + 2, lines.end()) ==
        std::vector<DeviceFact>{{"vector instructions", "avx2, fma"},
                                {"L1 data cache", "32 KiB, shared by 2 hardware threads"},
                                {"L3 cache", "24 MiB"},
                                {"memory", "16 GiB"}});
  facts.allowed_cores = 4;
  facts.physical_cores = 2;
  facts.max_gigahertz = 3.4;
  CHECK(device_facts(facts)[1] == DeviceFact{"hardware threads for this kernel", "4 on 2 cores"});
  CHECK(device_facts(facts)[2] == DeviceFact{"clock", "at most 3.4 GHz"});
  // Under a quota the threads may run anywhere.
  facts.allowed_cores = 16;
  CHECK(device_facts(facts)[1] == DeviceFact{"hardware threads for this kernel", "4"});
}

TEST_CASE("without a GPU, prompts are written for the processor, for a GPU by name, or for no device",
          "[prompt][device]") {
  CHECK_FALSE(fact_of(*find_device(Target::Cpp, "", true), "processor").empty());
  CHECK_FALSE(fact_of(*find_device(Target::Triton, "", true), "processor").empty());
  CHECK(find_device(Target::Cuda, "", false)->facts.empty());
  const auto named = find_device(Target::Cuda, "h100", false);
  REQUIRE(named);
  CHECK(named->gpu->architecture == "sm_90");
  CHECK(fact_of(*named, "architecture") == "sm_90");
}

TEST_CASE("a device that cannot be had is an error in words of a library", "[prompt][device]") {
  const auto none = find_device(Target::Cuda, "", true);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::MissingDevice);
  CHECK_THAT(none.error().message, Catch::Contains("target cuda needs a GPU: there is no GPU here: ") &&
                                       Catch::Contains("; have it judged where one is"));
  const auto unknown = find_device(Target::Cuda, "abacus", false);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == ErrorCode::NotFound);
  CHECK(unknown.error().message == "unknown GPU abacus: it is neither here nor in the catalog of GPUs");
}

TEST_CASE("the device of a record is known wherever it was judged", "[prompt][device]") {
  EnvironmentReport environment;
  CHECK(prompt_device_of(environment, shipped_catalog()).facts.empty());

  environment.device = "NVIDIA H200 (sm_90), 132 SMs, 140 GiB";
  environment.device_uuid = "GPU-1a2b";
  const auto gpu = prompt_device_of(environment, shipped_catalog());
  REQUIRE(gpu.gpu);
  CHECK(gpu.gpu->uuid == "GPU-1a2b");
  CHECK(gpu.gpu->memory_bytes_per_second.value_or(0) > 4e12);
  CHECK(fact_of(gpu, "device") == "NVIDIA H200");
  CHECK(fact_of(gpu, "architecture") == "sm_90");

  environment.device = "ACME Abacus (x1), 3 SMs, 1 GiB";
  const auto unknown = prompt_device_of(environment, shipped_catalog());
  REQUIRE(unknown.gpu);
  CHECK(unknown.facts == std::vector<DeviceFact>{{"device", "ACME Abacus (x1), 3 SMs, 1 GiB"}});

  environment.device = read_cpu_facts()->to_line();
  environment.device_uuid.clear();
  CHECK(prompt_device_of(environment, shipped_catalog()).facts == device_facts(*read_cpu_facts()));
  environment.device = "cpu: Another CPU, 96 cores";
  const auto elsewhere = prompt_device_of(environment, shipped_catalog());
  CHECK_FALSE(elsewhere.gpu);
  CHECK(elsewhere.facts == std::vector<DeviceFact>{{"processor", "Another CPU, 96 cores"}});
}

TEST_CASE("a search needs a device that gives times", "[prompt][device]") {
  NoProcesses processes;
  const PromptDeviceOptions options{
      .installation = shipped_installation(), .target = Target::Hip, .device = "cpu", .is_judged_here = true};
  const auto device = find_prompt_device(options, processes, {});
  REQUIRE_FALSE(device);
  CHECK(device.error().code == ErrorCode::InvalidArgument);
  CHECK(device.error().message == "target hip needs a GPU, not the cpu: there it has no time to be improved");
}
