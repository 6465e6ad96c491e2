#include <kernelgen/device/gpu.hpp>

#include <filesystem>
#include <functional>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

const char* const k_h200 =
    R"({"index": 0, "vendor": "nvidia", "name": "NVIDIA H200", "uuid": "GPU-11111111-aaaa", "architecture": "sm_90", )"
    R"("driver_version": 13000, "multiprocessors": 132, "memory_clock_khz": 3201000, "memory_bus_bits": 6144, )"
    R"("shared_bytes_per_block_optin": 232448, "memory_bytes": 150754820096, "cooperative_launch": true})"
    "\n";
const char* const k_unknown =
    R"({"index": 1, "vendor": "nvidia", "name": "NVIDIA L40", "uuid": "GPU-22222222-bbbb", "architecture": "sm_89", )"
    R"("driver_version": 12080, "multiprocessors": 142, "memory_clock_khz": 9001000, "memory_bus_bits": 384})"
    "\n";

/// A kgen-gpu with scripted output.
class FakeProbe final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token stop) override {
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
    requests.push_back(request);
    return request.command.at(1) == "facts" ? facts : bandwidth;
  }

  static ProcessOutcome says(std::string text) {
    ProcessOutcome outcome;
    outcome.exit_code = 0;
    outcome.standard_output = std::move(text);
    return outcome;
  }
  static ProcessOutcome complains(int exit_code, std::string text) {
    ProcessOutcome outcome;
    outcome.exit_code = exit_code;
    outcome.standard_error = std::move(text);
    return outcome;
  }

  ProcessOutcome facts = says(std::string(k_h200) + k_unknown);
  ProcessOutcome bandwidth = says("{\"copy_bytes_per_second\": 4100000000000}\n");
  std::vector<ProcessRequest> requests;
};

struct GpuMachine {
  FakeProbe probe;
  TemporaryDirectory directory = TemporaryDirectory::create(fs::temp_directory_path(), "gpus-").value();
  GpuCatalog catalog = read_gpu_catalog(std::string(KERNELGEN_SOURCE_DIR) + "/lib/device/data").value();
  GpuProbeOptions options{.program = "/libexec/kgen-gpu",
                          .environment = {{"CUDA_VISIBLE_DEVICES", "0,1"}},
                          .cache_dir = directory.path() / "cache",
                          .root = directory.path() / "nothing"};

  Result<GpuInventory> read() { return read_gpus(options, catalog, probe, {}); }
  Result<double> measure(const GpuFacts& gpu) { return measure_gpu_bandwidth(gpu, options, probe, {}); }
  [[nodiscard]] std::vector<fs::path> kept() const {
    std::vector<fs::path> files;
    if (!fs::exists(options.cache_dir / "devices")) return files;
    for (const auto& entry : fs::directory_iterator(options.cache_dir / "devices")) files.push_back(entry.path());
    return files;
  }
};

}  // namespace

TEST_CASE("GPUs are what kgen-gpu says, and what is known of their model", "[device][gpu]") {
  GpuMachine machine;
  const auto reading = machine.read().value();
  REQUIRE(reading.gpus.size() == 2);
  CHECK(reading.reason.empty());
  const auto& h200 = reading.gpus[0];
  CHECK(h200.model == "H200");
  CHECK(h200.shared_bytes_per_block_optin == 232448);
  CHECK(h200.cooperative_launch);
  CHECK(h200.memory_bytes_per_second == 4.8e12);
  CHECK(h200.fp16_per_second == 989.4e12);
  CHECK_FALSE(h200.measured_bytes_per_second);
  CHECK(h200.to_line() == "NVIDIA H200 (sm_90), 132 SMs, 140 GiB");
  CHECK(machine.probe.requests.at(0).environment.at("CUDA_VISIBLE_DEVICES") == "0,1");
}

TEST_CASE("the bandwidth of a device that is in no catalog is that of its clock and bus", "[device][gpu]") {
  GpuMachine machine;
  const auto gpu = machine.read().value().gpus.at(1);
  CHECK(gpu.model.empty());
  CHECK(gpu.memory_bytes_per_second == 2.0 * 9001e6 * 48);
  CHECK_FALSE(gpu.fp16_per_second);
}

TEST_CASE("a part of a device is not the device of the catalog", "[device][gpu]") {
  GpuMachine machine;
  std::string slice = k_h200;
  slice.replace(slice.find("132"), 3, "16");
  machine.probe.facts = FakeProbe::says(slice);
  CHECK(machine.read().value().gpus.at(0).model.empty());
}

TEST_CASE("a machine without a driver has no GPU, and a reason", "[device][gpu]") {
  GpuMachine machine;
  machine.probe.facts =
      FakeProbe::complains(69, "kgen-gpu: there is no GPU driver (libcuda.so.1 or libamdhip64.so) on this machine\n");
  const auto reading = machine.read().value();
  CHECK(reading.gpus.empty());
  CHECK(reading.reason == "there is no GPU driver (libcuda.so.1 or libamdhip64.so) on this machine");
}

TEST_CASE("a driver that lists nothing is a machine without a GPU", "[device][gpu]") {
  GpuMachine machine;
  machine.probe.facts = FakeProbe::says("");
  CHECK(machine.read().value().reason ==
        "the driver lists no device, and CUDA_VISIBLE_DEVICES is '0,1': unset it, or name devices that are there");
}

TEST_CASE("every variable that may hide GPUs is named", "[device][gpu]") {
  GpuMachine machine;
  machine.options.environment = {{"ROCR_VISIBLE_DEVICES", ""}, {"HIP_VISIBLE_DEVICES", "9"}};
  machine.probe.facts = FakeProbe::complains(69, "kgen-gpu: ROCm does not start: no ROCm-capable device (100)\n");
  CHECK(machine.read().value().reason ==
        "ROCm does not start: no ROCm-capable device (100), and HIP_VISIBLE_DEVICES is '9' and ROCR_VISIBLE_DEVICES is "
        "'': unset them, or name devices that are there");
}

namespace {

const char* const k_amd =
    R"({"index": 0, "vendor": "amd", "name": "AMD Radeon 780M", "uuid": "PCI-0000:c5:00", "architecture": "gfx1103", )"
    R"("integrated": true})"
    "\n"
    R"({"index": 1, "vendor": "amd", "name": "AMD Radeon RX 7900 XTX", "uuid": "GPU-3333", "architecture": "gfx1100"})"
    "\n";

/// A machine with an AMD card on its bus.
struct AmdCard : GpuMachine {
  AmdCard() {
    options.root = directory.path() / "root";
    options.environment.clear();
    write("sys/bus/pci/devices/0000:03:00.0/vendor", "0x1002\n");
    write("sys/bus/pci/devices/0000:03:00.0/class", "0x030000\n");
  }
  void write(const std::string& name, const std::string& text) const {
    make_directories((options.root / name).parent_path()).value();
    write_file_atomic(options.root / name, text).value();
  }
};

}  // namespace

TEST_CASE("integrated GPUs are chosen last, and keep their numbers", "[device][gpu]") {
  GpuMachine machine;
  machine.probe.facts = FakeProbe::says(k_amd);
  const auto reading = machine.read().value();
  const auto chosen = [&](const char* asked) { return choose_gpu(reading, machine.catalog, asked).value().uuid; };
  CHECK(chosen("") == "GPU-3333");
  CHECK(gpus_like_first(reading).size() == 1);
  CHECK(chosen("0") == "PCI-0000:c5:00");
  CHECK(chosen("amd:0") == "PCI-0000:c5:00");
  CHECK(chosen("amd:1") == "GPU-3333");
  CHECK(reading.gpus.back().integrated);
}

TEST_CASE("an AMD card whose nodes are closed says so where there is no GPU", "[device][gpu]") {
  AmdCard machine;
  machine.probe.facts =
      FakeProbe::complains(69, "kgen-gpu: there is no GPU driver (libcuda.so.1 or libamdhip64.so) on this machine\n");
  CHECK(machine.read().value().reason ==
        "there is an AMD card, but AMD's driver (amdgpu) is not loaded: there is no /dev/kfd: sudo modprobe amdgpu, or "
        "install it (https://rocm.docs.amd.com)");
  machine.write("dev/kfd", "");
  make_directories(machine.options.root / "dev/dri").value();
  fs::create_symlink("/nonexistent/node", machine.options.root / "dev/dri/renderD128");
  machine.probe.facts = FakeProbe::complains(69, "kgen-gpu: ROCm does not start: no ROCm-capable device (100)\n");
  CHECK(machine.read().value().reason.find(
            "ROCm does not start: no ROCm-capable device (100); there is an AMD card, but "
            "/dev/dri/renderD128 is not open to this user: sudo usermod -aG render,video") == 0);
}

TEST_CASE("a card without a GPU is explained where the GPUs of another maker work", "[device][gpu]") {
  AmdCard machine;
  machine.write("dev/kfd", "");
  machine.write("dev/dri/renderD128", "");
  machine.options.environment = {{"ROCR_VISIBLE_DEVICES", "7"}};
  const auto reading = machine.read().value();
  CHECK(reading.reason.empty());
  const std::string why =
      "there is an AMD card, and ROCR_VISIBLE_DEVICES is '7': unset it, or name devices that are there";
  CHECK(reading.absent == std::map<std::string, std::string>{{"amd", why}});
  const auto refused = choose_gpu(reading, machine.catalog, "amd:0");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("; " + why) != std::string::npos);
  CHECK(choose_gpu(reading, machine.catalog, "2").error().message.find(why) == std::string::npos);
  CHECK(gpus_for(reading, "amd").reason == "NVIDIA H200 is no GPU for it; " + why);
  machine.options.environment.clear();
  CHECK(machine.read().value().absent.at("amd").find("its driver shows no GPU: install AMD's driver") !=
        std::string::npos);
  machine.probe.facts = FakeProbe::says(k_amd);
  CHECK(machine.read().value().absent.empty());
}

TEST_CASE("a kgen-gpu that does not work is an error", "[device][gpu]") {
  GpuMachine machine;
  machine.probe.facts = FakeProbe::complains(64, "usage\n");
  CHECK(machine.read().error().code == ErrorCode::Unavailable);
  machine.probe.facts = ProcessOutcome{};
  machine.probe.facts.signal = 11;
  CHECK(machine.read().error().message == "cannot ask for GPUs: kgen-gpu ended with signal 11 (SIGSEGV)");
  machine.probe.facts = ProcessOutcome{};
  machine.probe.facts.timed_out = true;
  CHECK(machine.read().error().code == ErrorCode::Timeout);
  for (const auto* nonsense : {"not JSON\n", "{\"name\": 3}\n", "{\"name\": \"a device without a UUID\"}\n"}) {
    machine.probe.facts = FakeProbe::says(nonsense);
    INFO(nonsense);
    CHECK(machine.read().error().code == ErrorCode::Protocol);
  }
}

TEST_CASE("a bandwidth is measured once for a device and its driver", "[device][gpu]") {
  GpuMachine machine;
  auto gpu = machine.read().value().gpus.at(0);
  CHECK(machine.measure(gpu).value() == 4.1e12);
  CHECK(machine.probe.requests.back().command == std::vector<std::string>{"/libexec/kgen-gpu", "bandwidth", gpu.uuid});
  machine.probe.bandwidth = FakeProbe::says("{\"copy_bytes_per_second\": 4200000000000}\n");
  CHECK(machine.measure(gpu).value() == 4.1e12);
  CHECK(machine.read().value().gpus.at(0).measured_bytes_per_second == 4.1e12);
  gpu.driver_version = 13010;
  CHECK(machine.measure(gpu).value() == 4.2e12);
  CHECK(machine.kept().size() == 2);
}

TEST_CASE("a bandwidth that another process disturbed is not kept", "[device][gpu]") {
  GpuMachine machine;
  const auto gpu = machine.read().value().gpus.at(0);
  machine.probe.bandwidth = FakeProbe::says("{\"copy_bytes_per_second\": 2300000000000}\n");
  CHECK(machine.measure(gpu).value() == 2.3e12);
  CHECK(machine.kept().empty());
}

TEST_CASE("a measurement that cannot be read is made again", "[device][gpu]") {
  GpuMachine machine;
  const auto gpu = machine.read().value().gpus.at(0);
  REQUIRE(machine.measure(gpu));
  const auto file = machine.kept().at(0);
  for (const auto* text :
       {"", "{\"schema\": 9}", "{\"schema\": 1, \"uuid\": \"GPU-other\", \"driver_version\": 13000}"}) {
    write_file_atomic(file, text).value();
    INFO(text);
    CHECK_FALSE(machine.read().value().gpus.at(0).measured_bytes_per_second);
    CHECK(machine.measure(gpu).value() == 4.1e12);
  }
}

TEST_CASE("a cache that cannot be written costs only the time to measure again", "[device][gpu]") {
  GpuMachine machine;
  machine.options.cache_dir = "/dev/null/cache";
  const auto gpu = machine.read().value().gpus.at(0);
  CHECK(machine.measure(gpu).value() == 4.1e12);
  machine.options.cache_dir.clear();
  CHECK(machine.measure(gpu).value() == 4.1e12);
}

TEST_CASE("a bandwidth that cannot be measured is an error with the driver's reason", "[device][gpu]") {
  GpuMachine machine;
  const auto gpu = machine.read().value().gpus.at(0);
  machine.probe.bandwidth = FakeProbe::complains(69, "kgen-gpu: allocating memory: out of memory (2)\n");
  const auto failed = machine.measure(gpu);
  CHECK(failed.error().code == ErrorCode::MissingDevice);
  CHECK(failed.error().message == "cannot measure the bandwidth of NVIDIA H200: allocating memory: out of memory (2)");
  machine.probe.bandwidth = FakeProbe::complains(1, "");
  CHECK(machine.measure(gpu).error().code == ErrorCode::Unavailable);
  for (const auto* nonsense : {"", "{}", "{\"copy_bytes_per_second\": 0}"}) {
    machine.probe.bandwidth = FakeProbe::says(nonsense);
    INFO(nonsense);
    CHECK(machine.measure(gpu).error().code == ErrorCode::Protocol);
  }
  CHECK(machine.kept().empty());
}

TEST_CASE("a GPU is chosen by index, UUID or name", "[device][gpu]") {
  GpuMachine machine;
  const auto reading = machine.read().value();
  const auto chosen = [&](const char* asked) { return choose_gpu(reading, machine.catalog, asked).value().index; };
  CHECK(chosen("") == 0);
  CHECK(chosen("1") == 1);
  CHECK(chosen("GPU-22222222-bbbb") == 1);
  CHECK(chosen("GPU-2222") == 1);
  CHECK(chosen("h200") == 0);
  CHECK(chosen("H200 141GB") == 0);
  CHECK(chosen("nvidia l40") == 1);
}

TEST_CASE("a GPU that is not there is an error that says what is", "[device][gpu]") {
  GpuMachine machine;
  const auto reading = machine.read().value();
  for (const auto* asked : {"h100", "2", "GPU-3", "GPU-", "l40s", "mi300x", "nonsense"}) {
    INFO(asked);
    const auto chosen = choose_gpu(reading, machine.catalog, asked);
    REQUIRE_FALSE(chosen);
    CHECK(chosen.error().code == ErrorCode::MissingDevice);
    CHECK(chosen.error().message == "there is no GPU '" + std::string(asked) +
                                        "' here; there is: 0 NVIDIA H200 (GPU-11111111-aaaa), "
                                        "1 NVIDIA L40 (GPU-22222222-bbbb); choose by index, UUID or name, such as 0");
  }
  const auto none = choose_gpu({.reason = "there is no driver"}, machine.catalog, "");
  CHECK(none.error().message == "there is no GPU here: there is no driver; mend that, or use a machine that has one");
}

TEST_CASE("the version of a driver is that of CUDA", "[device][gpu]") {
  CHECK(format_driver_version(13000) == "13.0");
  CHECK(format_driver_version(12080) == "12.8");
}
